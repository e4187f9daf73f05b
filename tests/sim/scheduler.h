/* The deterministic scheduler: runs a few coroutines as threads, and decides at every atomic operation of the engine
 * which of them goes on. A run is given by its choices, so that it can be repeated, and all runs be tried one after
 * another.
 *
 * A switch away from a thread that could go on is a preemption. Exploring is depth first over all choices, with at most
 * so many preemptions. Switches that are forced (the thread sleeps or is done) are free, and all tried. Random runs
 * take priorities, and change them at a few points (Burckhardt and others, "A Randomized Scheduler with Probabilistic
 * Guarantees of Finding Bugs"), or toss a coin at every point.
 *
 * All threads of a run share one thread of the system: the one thread-local variable of the engine, front_current, is
 * swapped with them. */
#ifndef TSLAB_TESTS_SIM_SCHEDULER_H
#define TSLAB_TESTS_SIM_SCHEDULER_H

#include "malloc/current_thread.h"

#include <stdbool.h>
#include <stdint.h>

enum { THREADS_MAX = 4, STEPS_MAX = 20000, SEMAPHORES = 4 };

struct sim_run {
    int threads;
    int preemptions; /* the most that are tried */
    int stale_reads; /* the same, of loads that do not return the last store (memory.h) */
    /* Nobody forks: a gate is then its thread's own, and switching there would try the same order twice. */
    bool gates_are_private;
    void (*body)(int thread);
    void (*step)(void); /* called before every atomic operation */
};

/* Whether threads are running (else engine code runs alone, and at no point switches). */
bool sim_is_running(void);

/* The running thread. */
int sim_self(void);

/* Where a thread keeps its front_current while it does not run. Set them before a run. */
extern struct front *sim_front[THREADS_MAX];

/* Ends the run, or the check: what the rig is for. Outside of both it ends the program. */
_Noreturn void sim_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Says in the trace what the running thread does next: a letter and a number. */
void sim_note(char what, int number);

/* Semaphores of the scripts, to order operations without a preemption. A thread sleeps until its count is above 0, and
 * takes nothing; false: nobody is left who could raise it. */
bool sim_wait_for(int semaphore);
void sim_add_to(int semaphore, int change);

/* All other threads are frozen for ever, as a fork does it in the child. */
void sim_freeze_others(void);

/* The futex of the engine. */
void sim_futex_wait(atomic_u32 *word, uint32_t expected, uint32_t most_ms);
void sim_futex_wake_one(atomic_u32 *word);

/* Runs once, by the choices that are due. False: it failed, and sim_failure says why. */
bool sim_run(const struct sim_run *run);
const char *sim_failure(void);
void sim_print_trace(void);

/* Does a check after a run. NULL, or what is wrong: what it returns, or why it failed. */
const char *sim_check(const char *(*check)(void));

/* For the memory model: which of n > 1 stores a load returns, 0 being the last one. */
unsigned sim_choose_store(unsigned n, const void *where);

/* Whether an address lies on the stack of a thread of the runs. */
bool sim_is_on_stack(const void *p);

/* The line of code before a return address. */
void sim_name(const void *where, char *line, size_t size);

/* Exploring: sim_explore_start, then a sim_run for every true of sim_explore_next. */
void sim_explore_start(void);
bool sim_explore_next(void);

/* Random runs: each is given by its seed. */
void sim_random_start(uint64_t seed);
/* A number below n, from the run's seed. */
unsigned sim_random(unsigned n);

#endif
