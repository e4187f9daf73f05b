/* The kernel's words to the process at its start: numbers and addresses, or 0. os_learn asks libc for all of them,
 * outside of all locks (system_call.h). The first call of os_given does the same, where nobody has before.
 *
 * Threads: any. */
#ifndef TSLAB_OS_GIVEN_H
#define TSLAB_OS_GIVEN_H

#include "base/build.h"

#include <stddef.h>

enum os_given {
    OS_GIVEN_PAGE_BYTES,
    OS_GIVEN_RANDOM,
    OS_GIVEN_SECURE,
    OS_GIVEN_PROGRAM,
    OS_GIVEN_VDSO,
    OS_GIVEN_COUNT
};

void os_learn(void);
size_t os_given(enum os_given what);

#endif
