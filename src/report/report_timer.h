/* Reports that are due while the program runs: because a signal asked for one (option stats_signal), or because time
 * has passed (the milliseconds of stats).
 *
 * The handler of the signal only asks. The report is written by the next thread that comes out of a slow allocation,
 * outside of all gates and locks, or by the keeper; one thread writes at a time. A signal that ends programs (TERM,
 * INT, QUIT, HUP) cannot wait for that: its handler writes the report itself and then has the default action taken. It
 * writes nothing where it has interrupted a slow operation, whose locks the report might need: a report takes no lock
 * that a thread holds outside of its gate, except where signals are blocked.
 *
 * Figures for other processes are posted in the same way. Where there is a keeper it is left to it, so that no thread
 * of the program waits for it.
 *
 * A handler that the program installs replaces ours, and where the program or its parent has set another disposition
 * than the default before the library starts, there is none of ours.
 *
 * The engine knows none of this: it calls what trace.h names.
 *
 * Threads: any, after report_timer_start. */
#ifndef TSLAB_THREAD_REPORT_TIMER_H
#define TSLAB_THREAD_REPORT_TIMER_H

#include "base/atomic.h"
#include "base/bits.h"

struct report_timer {
    atomic_u32 is_asked; /* a signal came */
    atomic_u32 is_writing;
    atomic_u64 last_ms; /* the time of the last report, or of the start */
    atomic_u64 next_ms; /* when to post next */
    void (*write)(void);
    uint64_t (*post)(void); /* NULL: nothing is posted */
};

extern struct report_timer due;

/* Does what the options ask for. The function writes a report, allocates nothing, and takes no lock that is held while
 * it is called. */
void report_timer_start(void (*write)(void));

/* Has figures posted for other processes, from now on: calls the function, and again when the milliseconds are over
 * that it returns. It keeps to what is said of the one that writes reports, and is never called together with it. */
void report_timer_post(uint64_t (*post)(void));

/* Has the interval looked at that the program has set. */
void report_timer_arm(void);

/* Writes a report if one is due, and posts figures. Outside of all gates and locks. */
void report_timer_write(void);

#endif
