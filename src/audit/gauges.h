/* How much memory there is, noted in the timeline: what is resident and what the depot counts each time, and all
 * accounts (accounts.h) as often as their walks take little of the time.
 *
 * Threads: gauges_start before other threads run; they are read by one thread at a time. */
#ifndef TSLAB_AUDIT_GAUGES_H
#define TSLAB_AUDIT_GAUGES_H

/* Begins the timeline, if an option asks for it. */
void gauges_start(void);

#endif
