/* What the engine knows of a pointer that was misused: its size, the epoch that it belongs to, and what became of that.
 *
 * Reads tables only, while other threads may change them: then the line may be out of date, and the program ends all
 * the same. Takes no lock, allocates nothing, and needs less than 1 KiB of stack. Threads: any. */
#ifndef TSLAB_CORE_DIAGNOSIS_H
#define TSLAB_CORE_DIAGNOSIS_H

/* Reports misuses from now on (misuse.h). */
void diagnosis_start(void);

#endif
