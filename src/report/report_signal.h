/* Reports that a signal asks for while the program runs (option stats_signal), and black boxes (black_box.h).
 *
 * The handler of the signal only asks. The report is written by the next thread that comes out of a slow allocation,
 * outside of all gates and locks, or by the keeper. One thread writes at a time. No signal that ends programs can ask:
 * its handler would have to write, wherever it has interrupted its thread (docs/decisions/reports.md). The keeper also
 * answers what other processes ask for (channel.h).
 *
 * A handler that the program installs replaces ours, and where the program or its parent has set another disposition
 * than the default before the library starts, there is none of ours.
 *
 * The engine knows none of this: it calls what trace.h names.
 *
 * Threads: any, after report_signal_start. */
#ifndef TSLAB_REPORT_REPORT_SIGNAL_H
#define TSLAB_REPORT_REPORT_SIGNAL_H

#include "base/atomic.h"

struct report_signal {
    atomic_u32 is_asked; /* a signal came */
    atomic_u32 is_writing;
    atomic_u32 reports; /* how many were written, for %n in paths */
    void (*write)(void);
    void (*answer)(void); /* what other processes ask for, by the keeper; NULL: none can */
};

extern struct report_signal report_signal;

/* Does what the options ask for. The function writes a report, allocates nothing, and takes no lock that is held while
 * it is called. */
void report_signal_start(void (*write)(void));

/* Writes a report if one is asked for, and a black box if one is due. Outside of all gates and locks. */
void report_signal_write(void);

#endif
