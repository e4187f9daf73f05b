/* The clock, read by the function that the kernel maps into each process (the vDSO), without libc: libc's may be that
 * of a library which fakes the time, and delays have to pass. Where the kernel maps none, reading the clock is a system
 * call.
 *
 * Threads: any. errno is left alone. */
#ifndef TSLAB_OS_CLOCK_H
#define TSLAB_OS_CLOCK_H

#include "base/build.h"

#include <time.h>

/* The time of the clock; 0 when it cannot be read. */
struct timespec clock_read(clockid_t clock);

#endif
