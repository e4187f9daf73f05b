/* How much memory there is, noted in the timeline: what is resident and what the depot counts each time, and all
 * accounts (accounts.h) as often as their walks take little of the time.
 *
 * Threads: samples_start before other threads run; samples are taken by one thread at a time. */
#ifndef TSLAB_CORE_SAMPLES_H
#define TSLAB_CORE_SAMPLES_H

/* Begins the timeline, if an option asks for it. */
void samples_start(void);

#endif
