/* The memory model of C11 under the scheduler: for engines that the compiler instruments for ThreadSanitizer, whose
 * runtime this is. Every access of such an engine arrives here, with its memory order. In others nothing does, and all
 * of this does nothing.
 *
 * Plain accesses: two of two threads, one a write, of which neither happens before the other, end the run (vector
 * clocks, after Flanagan and Freund, "FastTrack"). Atomic ones: every place keeps its stores in the order in which they
 * were made. A load returns any that happens-before and the order of seq_cst operations permit. The scheduler chooses
 * which. A read-modify-write reads the last one. The releases of a store pass to the thread that acquires it.
 *
 * docs/protocols/memory.md says what the model leaves out and adds. */
#ifndef TSLAB_TESTS_SIM_MEMORY_H
#define TSLAB_TESTS_SIM_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* Whether there is code that is instrumented. */
bool memory_is_watched(void);

/* A run begins: all that was done before happens before all threads. And it ends. */
void memory_begin(int threads);
void memory_end(void);

/* The other threads are gone, and all that they did is seen: a fork's child. */
void memory_alone(void);

/* So much time passes that all stores so far are seen by all threads. Nothing is ordered by it. */
void memory_time_passes(void);

/* The running thread does with this memory what users do with objects: the rig's own accesses are not instrumented. A
 * place in each granule of the smallest class stands for all of them. */
void memory_use(const void *start, size_t bytes);

/* The users' own ways to hand something on: who acquires comes after who released the same last. */
void memory_release(const void *thing);
void memory_acquire(const void *thing);

#endif
