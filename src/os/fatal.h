/* The end of the program, with one line on stderr: for a misuse by pointer, or, in checked builds, for a broken
 * invariant of the engine. Nothing here allocates (libc's assert does). Threads: any. */
#ifndef TSLAB_OS_FATAL_H
#define TSLAB_OS_FATAL_H

#include "base/bits.h"

/* Called first on the thread that ends the program; NULL: nothing to call yet. The engine sets it, and makes sure that
 * a handler of SIGABRT can allocate and fork even where the thread was in the middle of an operation. */
extern void (*fatal_prepare)(void);

/* Called after the line is written, to say more of it: `pointer` is the one that was misused, or NULL. The engine of
 * the checked library sets it (diagnosis.h). */
extern void (*fatal_explain)(const void *pointer);

/* The moments at which the laws of conservation can be checked: checked builds call `laws`, which the tests set
 * (tests/laws). NULL: nobody checks them. */
enum moment {
    MOMENT_SLOW_END, /* of a slow operation of the thread. No gate */
    MOMENT_TRIMMED,  /* all that the thread can give back went back. In its gate */
    MOMENT_ALONE,    /* the thread may be the only one: after a trim, and at the exit. No gate */
    MOMENT_CLOSED,   /* an epoch of this value. In the gate */
    MOMENT_FORK, /* the gates of all others are held, or nobody else is there; not 0: it may be in a slow operation */
    MOMENT_CUT,  /* a fork has cut off threads, `value` of them, each perhaps in an operation */
};
struct thread;
extern void (*laws)(enum moment moment, struct thread *thread, uint64_t value);
#define laws_at_moment(...) (TSLAB_CHECKED && !TSLAB_SIM && laws != NULL ? laws(__VA_ARGS__) : (void)0)

/* "tslab[<process> <program>]: <what> <pointer><about>", for example "tslab[1234 redis-server]: double free of
 * 0x7f0012340040 (112 bytes)"; then abort. */
_Noreturn void fatal_pointer(const char *what, const void *pointer, const char *about);

/* "tslab[<process> <program>]: <what>"; then abort. */
_Noreturn void fatal(const char *what);

/* "tslab[<process> <program>]: broken invariant: <expression> at <file>:<line>"; then abort. */
_Noreturn void fatal_invariant(const char *expression, const char *file, unsigned line);

/* An assertion: ends checked builds with the line above when x is false. In other builds x is compiled, but never
 * evaluated. x must have no side effects, and no scheduling point (base/atomic.h). TSLAB_VERIFY: a test of a build
 * without checks compiles tests/laws for itself. */
#if TSLAB_CHECKED || defined TSLAB_VERIFY
#define invariant(x) (likely(x) ? (void)0 : fatal_invariant(#x, __FILE_NAME__, __LINE__))
#else
#define invariant(x) ((void)sizeof(!(x)))
#endif

#ifndef __FILE_NAME__
#define __FILE_NAME__ __FILE__
#endif

#endif
