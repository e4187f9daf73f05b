/* The end of the program, in one line on stderr: a misuse by pointer, or, in checked builds, a broken invariant of
 * ours. Nothing here allocates (the assert of libc does). */
#ifndef TSLAB_OS_FATAL_H
#define TSLAB_OS_FATAL_H

#include "base/bits.h"

/* Called before all else, for the thread that ends the program; NULL: nothing to call yet. The engine sees to it that a
 * handler of SIGABRT can allocate and fork, also where the thread was in the middle of one of its operations. */
extern void (*fatal_prepare)(void);

/* "tslab[<process> <program>]: <what> <pointer><about>", for example "tslab[1234 redis-server]: double free of
 * 0x7f0012340040 (112 bytes)"; then abort. */
_Noreturn void fatal_pointer(const char *what, const void *pointer, const char *about);

/* "tslab[<process> <program>]: <what>"; then abort. */
_Noreturn void fatal(const char *what);

/* "tslab[<process> <program>]: broken invariant: <expression> at <file>:<line>"; then abort. */
_Noreturn void fatal_invariant(const char *expression, const char *file, unsigned line);

#if TSLAB_CHECKED
#define invariant(x) (likely(x) ? (void)0 : fatal_invariant(#x, __FILE_NAME__, __LINE__))
#else
#define invariant(x) ((void)sizeof(!(x)))
#endif

#ifndef __FILE_NAME__
#define __FILE_NAME__ __FILE__
#endif

#endif
