/* The diagnosis of a pointer that was misused: its size, the epoch that it belongs to, and what became of that epoch.
 * In the checked libraries the call stack stands below that, and the one of the allocation where it was sampled.
 *
 * It only reads tables, while other threads may change them. Then the line may be out of date, but the program ends all
 * the same. It allocates nothing. The line takes no lock, and needs less than 1 KiB of stack. Threads: any. */
#ifndef TSLAB_AUDIT_DIAGNOSIS_H
#define TSLAB_AUDIT_DIAGNOSIS_H

/* Makes the reports of misuse.h come from here. */
void diagnosis_start(void);

#endif
