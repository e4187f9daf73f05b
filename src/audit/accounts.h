/* The accounts: which use each committed byte has (struct accounts).
 *
 * The law: each committed byte is in one account, and the accounts add up to what is committed: exactly while nothing
 * runs, and within what is in motion while something does. Committed bytes are counted where they are committed: by the
 * depot, the side tables and the records' mappings. Their use is found by walks: over the runs in use (census.h), over
 * the heaps of all records, and over the holds of epochs. Runs that the depot counts as used and that no walk finds are
 * in motion: a thread has just taken one, or is about to put it back. At rest there are none.
 *
 * No walk takes a lock. Records and heaps are never unmapped, and are found by lists that only grow. The card of the
 * protocol is docs/protocols/accounts.md.
 *
 * Threads: any. No gate. */
#ifndef TSLAB_AUDIT_ACCOUNTS_H
#define TSLAB_AUDIT_ACCOUNTS_H

#include "base/build.h"
#include "common/figures.h"
#include "thread/heap.h"

struct account {
    uint64_t bytes;
    uint64_t untouched_bytes; /* of these, known to have no pages: never touched, or purged */
};

#define ACCOUNT_MEMBER(name, ...) struct account name;
struct accounts {
    uint64_t committed_bytes, untouched_bytes; /* of all accounts together */
    ACCOUNT_FIGURES(ACCOUNT_MEMBER)
};

enum { ACCOUNTS = ACCOUNT_FIGURES(FIGURE_ONE) };

extern const char *const account_names[ACCOUNTS];

/* The account of this number, in the order of the list. */
static inline const struct account *account_of(const struct accounts *accounts, unsigned number)
{
    invariant(number < ACCOUNTS);
    return &accounts->live_slots + number;
}

/* A difference of figures that are read at different moments, and so may contradict each other for a while. */
static inline uint64_t not_below_zero(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* How far the walks are from the counts, in bytes. At rest both are 0. */
struct accounts_gap {
    int64_t runs;  /* used runs that no walk has found, but for those that a purger has; below 0: found twice */
    int64_t slots; /* cached slots beyond those that slabs have lent */
};

/* Fills in *accounts. Where two walks contradict each other, because something moved, no account is below 0. The kernel
 * is asked which pages the program has touched: by a file, as sandboxes expect of programs, or, for what the keeper
 * answers, by a call that takes a tenth of the time and that sandboxes do not know. RESIDENT_UNTOLD: it is not asked,
 * and all pages that were handed out count as touched. */
enum resident_by { RESIDENT_BY_FILE, RESIDENT_BY_CALL, RESIDENT_UNTOLD };
struct accounts_gap accounts_take(struct accounts *accounts, enum resident_by by);

/* The slots of a class that all heaps have. */
void accounts_held(unsigned class, struct class_held *held);

#endif
