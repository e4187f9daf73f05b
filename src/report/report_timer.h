/* Reports that are due while the program runs: because a signal asked for one (option stats_signal), or because time
 * has passed (the milliseconds of stats).
 *
 * The handler of the signal only asks. The report is written by the next thread that comes out of a slow allocation,
 * outside of all gates and locks, or by the keeper; one thread writes at a time. No signal that ends programs can ask:
 * its handler would have to write, wherever it has interrupted its thread (docs/decisions/reports.md).
 *
 * Reports that come by time are paced (report_is_time). Figures for other processes are posted in the same way, and
 * what they ask for is done (inbox.h). Where there is a keeper it is left to it, so that no thread of the program waits
 * for it.
 *
 * A handler that the program installs replaces ours, and where the program or its parent has set another disposition
 * than the default before the library starts, there is none of ours.
 *
 * The engine knows none of this: it calls what trace.h names.
 *
 * Threads: any, after report_timer_start. */
#ifndef TSLAB_REPORT_REPORT_TIMER_H
#define TSLAB_REPORT_REPORT_TIMER_H

#include "base/atomic.h"
#include "base/bits.h"
#include "os/fatal.h"
#include "os/os.h"

#include <stdbool.h>

struct report_timer {
    atomic_u32 is_asked; /* a signal came */
    atomic_u32 is_writing;
    atomic_u64 last_ms; /* the end of the last report, or the start */
    atomic_u64 took_ms; /* how long the last report took, rounded up */
    atomic_u64 next_ms; /* when to post next */
    atomic_u32 reports; /* how many were written, for %n in paths */
    void (*write)(void);
    uint64_t (*post)(bool at_once); /* NULL: nothing is posted */
    bool (*is_wanted)(void);        /* whether another process asks for something; NULL: none can */
    void (*do_wanted)(void);
};

extern struct report_timer due;

/* The pace of all that is done again and again: whether it is time for what last ended at `ended_ms` and took
 * `took_ms`. It comes at most each interval, and takes at most one part of `share` of the time. */
enum { REPORT_SHARE = 100 };
static inline bool report_is_time(uint64_t ended_ms, uint64_t took_ms, uint64_t interval_ms, uint64_t share)
{
    invariant(interval_ms != 0 && share != 0);
    return os_now_ms() - ended_ms >= max_size(interval_ms, took_ms * share);
}

/* Does what the options ask for. The function writes a report, allocates nothing, and takes no lock that is held while
 * it is called. */
void report_timer_start(void (*write)(void));

/* Has figures posted for other processes, from now on: calls the function, and again when the milliseconds are over
 * that it returns, or at once when another process asked for something, so that its effect shows. It keeps to what is
 * said of the one that writes reports, and is never called together with it. */
void report_timer_post(uint64_t (*post)(bool at_once));

/* Has it done what other processes ask for, from now on, by functions that keep to the same. */
void report_timer_obey(bool (*is_wanted)(void), void (*do_wanted)(void));

/* Has the interval looked at that the program has set. */
void report_timer_arm(void);

/* Writes a report if one is due, and posts figures. Outside of all gates and locks. */
void report_timer_write(void);

#endif
