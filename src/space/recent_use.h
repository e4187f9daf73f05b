/* Recent use, over the last two windows: peak use, its largest rise, how much freed memory was allocated again (the
 * maximum and the sum), how much purged memory was needed again, and how much of what waits did not serve. The purger
 * (reclaim.h) keeps as much free memory as the program is likely to reuse.
 *
 * Time is cut into windows, here of purge_delay_ms. "Lately" is this window and the one before, unless there was a long
 * pause. When a window ends, a half of what was missed is forgotten.
 *
 * Threads: changed by the holder of the depot's lock, or of the heap. Any thread reads the atomic fields. */
#ifndef TSLAB_SPACE_RECENT_USE_H
#define TSLAB_SPACE_RECENT_USE_H

#include "base/atomic.h"
#include "base/bits.h"
#include "os/fatal.h"

#include <stddef.h>
#include <stdint.h>

struct use_window {
    size_t low;       /* the fewest units that were in use */
    size_t peak;      /* the most */
    size_t rise;      /* the most by which they rose */
    size_t reuse;     /* the most by which they rose after they had fallen by as much */
    size_t reuse_sum; /* the sum of all such rises */
};

struct recent_use {
    struct use_window now;
    size_t peak_before, reuse_before, reuse_sum_before; /* of the window before */
    uint64_t since_ms;                                  /* when this window began */
    size_t top, low;                                    /* the most that was in use lately, and the least after that */
    atomic_size_t missed;                               /* what was missed, up to the peak */
    size_t unfit_sum; /* what was taken without pages although others waited, likewise */
    /* Of both windows. */
    atomic_size_t reuse;
    atomic_size_t reuse_sum;
    atomic_size_t below_peak; /* by how many units the use is lower than its peak */
    atomic_size_t unfit;      /* unfit_sum, beyond what was missed and a little */
};

/* So many units are in use now. */
void recent_use_note(struct recent_use *use, size_t units, uint64_t now_ms, uint64_t window_ms);

/* `units` are taken. Of these, `given_back` were given back lately, and are missed. `unfit` more have no pages,
 * although as many others wait. Neither counts where the use grows beyond its peak: then the sum of what is in use and
 * what waits would be larger than any peak. */
static inline void recent_use_miss(struct recent_use *use, size_t units, size_t unfit, size_t given_back)
{
    invariant(unfit + given_back <= units);
    if (load_plain(&use->below_peak) >= units) {
        const size_t most = max_size(use->now.peak, use->peak_before);
        store_plain(&use->missed, min_size(load_plain(&use->missed) + given_back, most));
        use->unfit_sum = min_size(use->unfit_sum + unfit, most);
    }
}

/* Whether the use has doubled in this window, so fast that page faults are a good part of the program's time. */
static inline bool recent_use_soars(const struct recent_use *use, uint64_t now_ms)
{
    enum { SOARS_UNITS = 32 }; /* units in a millisecond, half a MiB */
    const uint64_t passed_ms = now_ms > use->since_ms ? now_ms - use->since_ms : 0;
    return use->now.rise >= use->now.peak / 2 && use->now.rise >= passed_ms * SOARS_UNITS;
}

#endif
