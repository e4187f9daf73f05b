/* The system under the engine of the simulation: memory that is purged and forbidden as the rig says, and a clock that
 * goes on where a script says so. The linker puts it in place of the calls that are in no table
 * (tests/sim/CMakeLists.txt). */
#ifndef TSLAB_TESTS_SIM_SYSTEM_H
#define TSLAB_TESTS_SIM_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TOLD_MAX = 32, ACTORS_MAX = 5 };

/* The state that a run changes. */
struct system {
    uint64_t forbidden;       /* a bit a unit */
    unsigned forbids;         /* runs that were forbidden, since ever */
    bool forbade[ACTORS_MAX]; /* who forbade a run in the operation that is under way */
    unsigned told[TOLD_MAX];  /* survivors that were told on stderr, by labels e<number> of epochs */
    uint64_t now_ms;
    unsigned process; /* the running one */
};

extern struct system simulated;

/* Puts itself in place of the real system. */
void system_start(void);

/* Whether a unit is forbidden. */
bool system_forbids(size_t unit);

/* The handlers that the engine has the real system call: before and after a fork, and when a thread ends. */
extern void (*system_fork_prepare)(void);
extern void (*system_fork_parent)(void);
extern void (*system_fork_child)(void);
extern void (*system_thread_ends)(void *thread);

/* The handler that it has the system call for a signal. */
extern void (*system_signal)(int number);

#endif
