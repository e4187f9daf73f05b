/* The system under the engine of the simulation: memory that is mapped, purged and forbidden as the rig says, at
 * addresses that repeat, and a clock that stands still. The linker puts it in place of the calls that are in no table
 * (tests/sim/CMakeLists.txt). */
#ifndef TSLAB_TESTS_SIM_SYSTEM_H
#define TSLAB_TESTS_SIM_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MAPPINGS_MAX = 12,
    MAPPING_BYTES = 1 << 20,
    MAPPING_SAVED_BYTES = 256, /* from its start on: what a run may write there, but for stamps */
    TOLD_MAX = 32,
    ACTORS_MAX = 5,
};

/* What a run changes. */
struct system {
    size_t mapped[MAPPINGS_MAX]; /* bytes; 0: the place is free */
    uint64_t forbidden;          /* a bit a unit */
    unsigned forbids;            /* runs that were forbidden, since ever */
    bool forbade[ACTORS_MAX];    /* who forbade a run in the operation that is under way */
    unsigned told[TOLD_MAX];     /* survivors that were told on stderr, by labels e<number> of epochs */
};

extern struct system simulated;

/* Puts itself in place of the real system. */
void system_start(void);

/* The start of a place for a mapping. */
char *system_mapping(unsigned place);

/* Whether p lies in a mapping of the rig's, mapped or not. And whether it is mapped. */
bool system_is_mapping(const void *p);
bool system_is_mapped(const void *p);

/* Whether a mapping may not be had. */
bool system_is_full(void);

/* Whether a unit is forbidden. */
bool system_forbids(size_t unit);

/* The handlers that the engine has the real system call: before and after a fork, and when a thread ends. */
extern void (*system_fork_prepare)(void);
extern void (*system_fork_parent)(void);
extern void (*system_fork_child)(void);
extern void (*system_thread_ends)(void *thread);

#endif
