/* The accounts: which use each committed byte has (struct tslab_accounts).
 *
 * The law: each committed byte is in one account, and the accounts add up to what is committed: exactly while nothing
 * runs, and within what is in motion while something does. What is committed is counted where it is committed: by the
 * depot, the side tables and the records' mappings. What it serves for is found by walks: over the runs in use
 * (census.h), over the heaps of all records, and over the holds of epochs. Runs that the depot counts as used and that
 * no walk finds are in motion: a thread has just taken one, or is about to put it back. At rest there are none.
 *
 * No walk takes a lock. Records and heaps are never unmapped, and are found by lists that only grow. The card of the
 * protocol is docs/protocols/accounts.md.
 *
 * Threads: any. No gate. */
#ifndef TSLAB_AUDIT_ACCOUNTS_H
#define TSLAB_AUDIT_ACCOUNTS_H

#include "audit/resident.h"
#include "thread/heap.h"

#include <tslab/tslab.h>

/* All accounts, in the order of the struct. */
#define ACCOUNT_LIST(X)                                                                                                \
    X(live_slots)                                                                                                      \
    X(live_chunks)                                                                                                     \
    X(live_large)                                                                                                      \
    X(magazines)                                                                                                       \
    X(stocks)                                                                                                          \
    X(outboxes)                                                                                                        \
    X(exchange)                                                                                                        \
    X(claimed)                                                                                                         \
    X(retired)                                                                                                         \
    X(partial_slabs)                                                                                                   \
    X(attached_slabs)                                                                                                  \
    X(slab_tails)                                                                                                      \
    X(dead_in_chunks)                                                                                                  \
    X(unfilled_chunks)                                                                                                 \
    X(warm_chunks)                                                                                                     \
    X(large_tails)                                                                                                     \
    X(hot_runs)                                                                                                        \
    X(trapped_runs)                                                                                                    \
    X(dirty_runs)                                                                                                      \
    X(stuck_runs)                                                                                                      \
    X(clean_runs)                                                                                                      \
    X(moving_runs)                                                                                                     \
    X(unopened_units)                                                                                                  \
    X(tag_table)                                                                                                       \
    X(run_table)                                                                                                       \
    X(revisit_table)                                                                                                   \
    X(code_table)                                                                                                      \
    X(check_table)                                                                                                     \
    X(tray_records)                                                                                                    \
    X(thread_records)                                                                                                  \
    X(heap_records)                                                                                                    \
    X(epoch_records)                                                                                                   \
    X(unused_records)

#define ACCOUNT_NUMBER(name) ACCOUNT_OF_##name,
enum { ACCOUNT_LIST(ACCOUNT_NUMBER) ACCOUNTS };

extern const char *const account_names[ACCOUNTS];

/* The account of this number. */
static inline const struct tslab_account *account_of(const struct tslab_accounts *accounts, unsigned number)
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

/* Fills in *accounts. Where two walks contradict each other, because something moved, no account is below 0. NULL for
 * `resident`: all pages that were handed out count as touched. */
struct accounts_gap accounts_take(struct tslab_accounts *accounts, struct resident *resident);

/* The same for a report: pages that the program has not touched are told apart, where the kernel tells. */
void accounts_take_resident(struct tslab_accounts *accounts);

/* The slots of a class that all heaps have. */
void accounts_held(unsigned class, struct class_held *held);

#endif
