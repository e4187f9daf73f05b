/* Limits of several epochs together: those of an instance, and those that carry a label.
 *
 * A quota counts the units of its epochs' runs. A run is counted until it leaves its epoch, so the count is right
 * however epochs begin and end meanwhile. An epoch may be under two: that of its instance, and that of its label.
 *
 * Owns: the quotas of labels (option epoch_limits). A label that had a limit once keeps its place, because epochs point
 * to its quota. Without a limit it only counts. An epoch that was opened before its label had a place counts nowhere.
 *
 * Invariant: the labels before `count` are set and never change (docs/protocols/epoch.md, Labels).
 *
 * Threads: any. Cost: an atomic addition for each run that an epoch with a quota gets or gives away. */
#ifndef TSLAB_COMMON_QUOTA_H
#define TSLAB_COMMON_QUOTA_H

#include "base/atomic.h"
#include "common/figures.h"
#include "common/slice.h"
#include "os/fatal.h"

struct text;

struct quota {
    atomic_u64 units;
    atomic_u64 limit_units; /* 0: none */
};

/* Whether there may be so many units more. Threads that ask at the same moment may get a little more. */
static inline bool quota_allows(const struct quota *quota, uint32_t units)
{
    const uint64_t limit = load_plain(&quota->limit_units);
    return limit == 0 || counter_get(&quota->units) + units <= limit;
}

static inline void quota_change(struct quota *quota, uint32_t before, uint32_t after)
{
    invariant(counter_get(&quota->units) >= before);
    counter_add_shared(&quota->units, (uint64_t)after - before);
}

enum { LABELS_LIMITED = 16, LABEL_BYTES = 32 }; /* a label has a terminating 0 */

struct label_quota {
    struct quota quota;
    atomic_u64 peak_units; /* the most that its epochs had together */
    atomic_u64 refusals;   /* allocations that failed because of it */
    char label[LABEL_BYTES];
};

static inline void label_quota_change(struct label_quota *label, uint32_t before, uint32_t after)
{
    quota_change(&label->quota, before, after);
    (void)counter_raise(&label->peak_units, counter_get(&label->quota.units));
}

struct label_quotas {
    atomic_u32 count;
    struct label_quota labels[LABELS_LIMITED];
};

extern struct label_quotas label_quotas;

/* The quota of a label, which counts as far as an epoch keeps it. NULL: it has none. */
struct label_quota *label_quota_named(const char *label);

static inline struct label_quota *label_quota_of(const char *label)
{
    const bool none = likely(load_plain(&label_quotas.count) == 0) || label == NULL;
    return none ? NULL : label_quota_named(label);
}

/* Whether these are limits, as LABEL=BYTES:LABEL=BYTES, and there is room for the labels that are new. */
bool label_limits_fit(struct slice list);

/* Sets these limits, and no others: a label that is not named has none from now on. False: they do not fit. Inside of a
 * gate, or at the start. */
bool label_limits_set(struct slice list);

/* The limit of a label with a place, and the use of its epochs. */
struct label_limit {
    const char *label;
    LABEL_LIMIT_FIGURES(FIGURE_MEMBER)
};

/* The limit in this place of the table. False: there are no more. */
bool label_limit_get(uint32_t place, struct label_limit *limit);

/* Refusals by the limits of all labels. */
uint64_t label_limits_refused(void);

/* Appends the limits as label_limits_set takes them, in no more bytes than those that it took. */
void label_limits_tell(struct text *text);

#endif
