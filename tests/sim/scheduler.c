#include "scheduler.h"

#include "memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

enum { STACK_BYTES = 64 * 1024, CHANGES_MAX = 6, COIN_SIDES = 1024, STEPS_FEW = 100, STALE = '~' /* in the trace */ };

enum condition { READY, ASLEEP, WAITS, DONE, FROZEN };

static struct {
    jmp_buf start; /* in the coroutine's first function: jumping there starts a thread anew */
    jmp_buf at;    /* where it was switched away from */
    bool started;
    enum condition condition;
    const atomic_u32 *word; /* that it sleeps on */
    int semaphore;          /* that it waits for */
    int priority;
} threads[THREADS_MAX];

static char stacks[THREADS_MAX][STACK_BYTES] __attribute__((aligned(64)));

static struct {
    const struct sim_run *run; /* NULL: no run is under way */
    int self;
    int preemptions;
    int stale_reads;
    int quiet; /* above 0: in an operation that nobody else can see */
    int semaphores[SEMAPHORES];
    bool gave_up;
    bool failed;
    bool checks; /* between runs, in sim_check */
    jmp_buf end;
    char failure[256];
    unsigned steps;
} sim;

struct front *sim_front[THREADS_MAX];

/* The steps of the last run. */
static struct {
    int thread;
    char what; /* 0: an atomic operation at `where`; STALE: it returned what so many stores ago was the last one */
    int number;
    const void *where;
} trace[STEPS_MAX + 64];
static unsigned trace_length;

/* Choices: of an exploration, replayed up to the last one that is new. */
static struct {
    uint8_t value[STEPS_MAX], last[STEPS_MAX];
    unsigned at, length;
    bool started;
} choices;

static struct {
    bool on;
    uint64_t state;
    unsigned coin;  /* above 0: so many of COIN_SIDES say to switch; 0: priorities */
    unsigned stale; /* so many of COIN_SIDES say that a load does not return the last store */
    unsigned change[CHANGES_MAX];
    unsigned changes;
    int lowest;
} chance;

unsigned sim_random(unsigned n)
{
    chance.state ^= chance.state << 13;
    chance.state ^= chance.state >> 7;
    chance.state ^= chance.state << 17;
    return (unsigned)((chance.state >> 11) % n);
}

/* One of n ways to go on. */
static unsigned choose(unsigned n)
{
    if (n < 2) {
        return 0;
    }
    if (chance.on) {
        return sim_random(n);
    }
    if (choices.at == choices.length) {
        if (choices.at == STEPS_MAX) {
            sim_fail("too many choices");
        }
        choices.value[choices.length++] = 0;
    }
    choices.last[choices.at] = (uint8_t)(n - 1);
    return choices.value[choices.at++];
}

static void trace_store(unsigned ago, const void *where)
{
    if (trace_length < STEPS_MAX) {
        trace[trace_length].thread = sim.self;
        trace[trace_length].what = STALE;
        trace[trace_length].number = (int)ago;
        trace[trace_length++].where = where;
    }
}

unsigned sim_choose_store(unsigned n, const void *where)
{
    unsigned ago = 0;
    if (chance.on) {
        ago = sim_random(COIN_SIDES) < chance.stale ? 1 + sim_random(n - 1) : 0;
    } else if (sim.stale_reads < sim.run->stale_reads) {
        ago = choose(n);
    }
    if (ago > 0) {
        sim.stale_reads++;
        trace_store(ago, where);
    }
    return ago;
}

void sim_explore_start(void)
{
    chance.on = false;
    choices.at = choices.length = 0;
    choices.started = false;
}

bool sim_explore_next(void)
{
    if (!choices.started) {
        choices.started = true;
        return true;
    }
    choices.at = 0;
    while (choices.length > 0) {
        if (choices.value[choices.length - 1] < choices.last[choices.length - 1]) {
            choices.value[choices.length - 1]++;
            return true;
        }
        choices.length--;
    }
    return false;
}

void sim_random_start(uint64_t seed)
{
    chance.on = true;
    chance.state = (seed + 1) * 0x9e3779b97f4a7c15u;
    for (int i = 0; i < 8; i++) {
        (void)sim_random(2);
    }
    chance.coin = sim_random(2) == 0 ? 0 : 8u << sim_random(6);
    chance.changes = 1 + sim_random(CHANGES_MAX);
    const unsigned steps = STEPS_FEW << sim_random(3);
    for (unsigned i = 0; i < chance.changes; i++) {
        chance.change[i] = sim_random(steps);
    }
    chance.stale = 8u << seed % 5;
    chance.lowest = 0;
    for (int t = 0; t < THREADS_MAX; t++) {
        threads[t].priority = (int)sim_random(1000) + 1;
    }
}

bool sim_is_running(void)
{
    return sim.run != NULL;
}

int sim_self(void)
{
    return sim.self;
}

bool sim_is_on_stack(const void *p)
{
    return (uintptr_t)p - (uintptr_t)stacks < sizeof stacks;
}

const char *sim_failure(void)
{
    return sim.failure;
}

static bool can_run(int thread)
{
    return threads[thread].condition == READY ||
           (threads[thread].condition == WAITS && sim.semaphores[threads[thread].semaphore] > 0);
}

static _Noreturn void jump_into(int thread)
{
    sim.self = thread;
    front_current = sim_front[thread];
    if (threads[thread].started) {
        _longjmp(threads[thread].at, 1);
    }
    threads[thread].started = true;
    _longjmp(threads[thread].start, 1);
}

static void switch_to(int thread)
{
    if (thread == sim.self) {
        return;
    }
    sim_front[sim.self] = front_current;
    if (_setjmp(threads[sim.self].at) == 0) {
        jump_into(thread);
    }
}

static int highest(const int *candidates, unsigned n)
{
    int best = candidates[0];
    for (unsigned i = 1; i < n; i++) {
        if (threads[candidates[i]].priority > threads[best].priority) {
            best = candidates[i];
        }
    }
    return best;
}

static int pick(const int *candidates, unsigned n)
{
    return chance.on && chance.coin == 0 ? highest(candidates, n) : candidates[choose(n)];
}

/* The running thread cannot go on: another does, or it itself, woken up. */
static void give_way(void)
{
    for (;;) {
        int candidates[THREADS_MAX];
        unsigned n = 0;
        bool any_asleep = false;
        bool any_waits = false;
        for (int t = 0; t < sim.run->threads; t++) {
            if (can_run(t)) {
                candidates[n++] = t;
            }
            any_asleep |= threads[t].condition == ASLEEP;
            any_waits |= threads[t].condition == WAITS;
        }
        if (n > 0) {
            switch_to(pick(candidates, n));
            return;
        }
        if (any_waits) {
            sim.gave_up = true;
            for (int t = 0; t < sim.run->threads; t++) {
                if (threads[t].condition == WAITS) {
                    threads[t].condition = READY;
                }
            }
        } else if (any_asleep) {
            sim_fail("deadlock: all threads sleep");
        } else {
            _longjmp(sim.end, 1);
        }
    }
}

static bool wants_switch(void)
{
    if (!chance.on) {
        return sim.preemptions < sim.run->preemptions;
    }
    if (chance.coin != 0) {
        return sim_random(COIN_SIDES) < chance.coin;
    }
    for (unsigned i = 0; i < chance.changes; i++) {
        if (chance.change[i] == sim.steps) {
            threads[sim.self].priority = --chance.lowest;
        }
    }
    return true;
}

void sim_point(void)
{
    if (sim.run == NULL) {
        return;
    }
    sim.run->step();
    if (sim.quiet > 0) {
        return;
    }
    trace[trace_length].thread = sim.self;
    trace[trace_length].what = 0;
    trace[trace_length++].where = __builtin_return_address(0);
    if (++sim.steps == STEPS_MAX) {
        sim_fail("endless: %d steps", STEPS_MAX);
    }
    if (!wants_switch()) {
        return;
    }
    int candidates[THREADS_MAX] = { sim.self };
    unsigned n = 1;
    for (int t = 0; t < sim.run->threads; t++) {
        if (t != sim.self && can_run(t)) {
            candidates[n++] = t;
        }
    }
    const int next = pick(candidates, n);
    sim.preemptions += next != sim.self;
    switch_to(next);
}

void sim_note(char what, int number)
{
    if (sim.run != NULL && trace_length < STEPS_MAX) {
        trace[trace_length].thread = sim.self;
        trace[trace_length].what = what;
        trace[trace_length++].number = number;
    }
}

void sim_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sim.failure, sizeof sim.failure, format, arguments);
    va_end(arguments);
    if (sim.run == NULL && !sim.checks) {
        fprintf(stderr, "sim: outside a run: %s\n", sim.failure);
        abort();
    }
    sim.failed = true;
    _longjmp(sim.end, 1);
}

const char *sim_check(const char *(*check)(void))
{
    const char *volatile wrong = NULL;
    sim.failed = false;
    sim.checks = true;
    if (_setjmp(sim.end) == 0) {
        wrong = check();
    }
    sim.checks = false;
    return sim.failed ? sim.failure : wrong;
}

void sim_futex_wait(atomic_u32 *word, uint32_t expected, uint32_t most_ms)
{
    (void)most_ms;
    sim_point();
    if (atomic_load(word) != expected) {
        return;
    }
    if (sim.run == NULL) {
        sim_fail("a lock was left held");
    }
    threads[sim.self].condition = ASLEEP;
    threads[sim.self].word = word;
    give_way();
}

void sim_futex_wake_one(atomic_u32 *word)
{
    sim_point();
    if (sim.run == NULL) {
        return;
    }
    int sleepers[THREADS_MAX];
    unsigned n = 0;
    for (int t = 0; t < sim.run->threads; t++) {
        if (threads[t].condition == ASLEEP && threads[t].word == word) {
            sleepers[n++] = t;
        }
    }
    if (n > 0) {
        threads[sleepers[choose(n)]].condition = READY;
    }
}

bool sim_wait_for(int semaphore)
{
    while (sim.semaphores[semaphore] == 0 && !sim.gave_up) {
        threads[sim.self].condition = WAITS;
        threads[sim.self].semaphore = semaphore;
        give_way();
        threads[sim.self].condition = READY;
    }
    return sim.semaphores[semaphore] > 0;
}

void sim_add_to(int semaphore, int change)
{
    sim.semaphores[semaphore] += change;
}

void sim_freeze_others(void)
{
    for (int t = 0; t < sim.run->threads; t++) {
        if (t != sim.self && threads[t].condition != DONE) {
            threads[t].condition = FROZEN;
        }
    }
    memory_alone();
}

/* The switches around gates, which tests/sim/CMakeLists.txt has the linker put in place of the locks of the engine. */

void real_lock_acquire(struct lock *lock) __asm__("__real_lock_acquire");
void real_lock_release(struct lock *lock) __asm__("__real_lock_release");
void wrap_lock_acquire(struct lock *lock) __asm__("__wrap_lock_acquire");
void wrap_lock_release(struct lock *lock) __asm__("__wrap_lock_release");

static bool is_private(const struct lock *lock)
{
    return lock->rank == RANK_GATE && sim.run != NULL && sim.run->gates_are_private;
}

void wrap_lock_acquire(struct lock *lock)
{
    const int quiet = is_private(lock);
    sim.quiet += quiet;
    real_lock_acquire(lock);
    sim.quiet -= quiet;
}

void wrap_lock_release(struct lock *lock)
{
    const int quiet = is_private(lock);
    sim.quiet += quiet;
    real_lock_release(lock);
    sim.quiet -= quiet;
}

/* A coroutine's first function. It never returns, so its frame can be jumped into again and again. */
static void coroutine(void)
{
    if (_setjmp(threads[sim.self].start) == 0) {
        _longjmp(sim.end, 1);
    }
    sim.run->body(sim.self);
    sim_front[sim.self] = front_current;
    threads[sim.self].condition = DONE;
    give_way();
    abort();
}

static void make_coroutines(void)
{
    static volatile int made;
    for (; made < THREADS_MAX; made++) {
        static ucontext_t context;
        getcontext(&context);
        context.uc_stack.ss_sp = stacks[made];
        context.uc_stack.ss_size = STACK_BYTES;
        makecontext(&context, coroutine, 0);
        sim.self = made;
        if (_setjmp(sim.end) == 0) {
            setcontext(&context);
        }
    }
}

bool sim_run(const struct sim_run *run)
{
    make_coroutines();
    struct front *const outside = front_current;
    for (int t = 0; t < run->threads; t++) {
        threads[t].started = false;
        threads[t].condition = READY;
    }
    trace_length = 0;
    sim.steps = 0;
    sim.preemptions = 0;
    sim.stale_reads = 0;
    sim.quiet = 0;
    memset(sim.semaphores, 0, sizeof sim.semaphores);
    sim.gave_up = false;
    sim.failed = false;
    sim.run = run;
    memory_begin(run->threads);
    if (_setjmp(sim.end) == 0) {
        int all[THREADS_MAX];
        for (int t = 0; t < run->threads; t++) {
            all[t] = t;
        }
        jump_into(pick(all, (unsigned)run->threads));
    }
    sim.run = NULL;
    memory_end();
    front_current = outside;
    return !sim.failed;
}

/* Turns addresses into lines with the system's addr2line, where there is one. */
static size_t addr2line(char *command, size_t size)
{
    char path[2048];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    path[length > 0 ? length : 0] = 0;
    return (size_t)snprintf(command, size, "addr2line -s -e '%s'", path);
}

/* A return address is behind the call. */
static size_t add_address(char *command, size_t size, const void *where)
{
    return (size_t)snprintf(command, size, " %p", (const void *)((const char *)where - 1));
}

static void read_line(FILE *lines, const void *where, char *line, size_t size)
{
    line[0] = 0;
    if (lines == NULL || fgets(line, (int)size, lines) == NULL) {
        snprintf(line, size, "%p", where);
    }
    line[strcspn(line, " \n")] = 0;
}

void sim_name(const void *where, char *line, size_t size)
{
    char command[4096];
    const size_t at = addr2line(command, sizeof command);
    (void)add_address(command + at, sizeof command - at, where);
    FILE *lines = popen(command, "r");
    read_line(lines, where, line, size);
    if (lines != NULL) {
        pclose(lines);
    }
}

static bool has_place(unsigned i)
{
    return trace[i].what == 0 || trace[i].what == STALE;
}

void sim_print_trace(void)
{
    static char command[STEPS_MAX * 20 + 4096];
    size_t at = addr2line(command, sizeof command);
    for (unsigned i = 0; i < trace_length && at + 20 < sizeof command; i++) {
        at += has_place(i) ? add_address(command + at, sizeof command - at, trace[i].where) : 0;
    }
    FILE *lines = popen(command, "r");
    for (unsigned i = 0; i < trace_length; i++) {
        char line[256];
        if (i == 0 || trace[i].thread != trace[i - 1].thread) {
            fprintf(stderr, "%s  T%d:", i == 0 ? "" : "\n", trace[i].thread);
        }
        if (has_place(i)) {
            read_line(lines, trace[i].where, line, sizeof line);
        }
        if (trace[i].what == STALE) {
            fprintf(stderr, " [%s reads %d ago]", line, trace[i].number);
        } else if (trace[i].what != 0) {
            fprintf(stderr, " [%c%d]", trace[i].what, trace[i].number);
        } else {
            fprintf(stderr, " %s", line);
        }
    }
    fprintf(stderr, "\n");
    if (lines != NULL) {
        pclose(lines);
    }
}
