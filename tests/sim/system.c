#include "system.h"

#include "memory.h"
#include "os/os.h"
#include "scheduler.h"
#include "space/arena.h"
#include "world.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* The one that asks. */
struct system simulated;

static uint64_t now_ms(void)
{
    return simulated.now_ms;
}

/* Nobody may own anything between two addresses, or come by it meanwhile. `frees`: an object that is being freed may
 * still seem to be there. */
static void check_unused(const void *start, size_t bytes, bool frees, const char *what)
{
    for (int i = 0; i < 2 && sim_is_running(); i++) {
        for (const struct object *o = world.objects; o < world_objects_end(); o++) {
            if (object_is_in_use(o) && !(frees && o->leaves) && (uintptr_t)o->address < (uintptr_t)start + bytes &&
                (uintptr_t)start < (uintptr_t)o->address + o->bytes) {
                sim_fail("%s under an object of T%d", what, o->owner);
            }
        }
        for (const struct held_run *run = world.runs; run < world.runs + RUNS_MAX; run++) {
            if (run->first != 0 && (uintptr_t)arena_address(run->first) - (uintptr_t)start < bytes) {
                sim_fail("%s under a run", what);
            }
        }
        sim_point();
    }
}

bool system_forbids(size_t unit)
{
    return unit < UNITS_MAX && (simulated.forbidden >> unit & 1) != 0;
}

static uint64_t units_between(const void *start, size_t bytes)
{
    return SLOT_BITS(bytes >> UNIT_SHIFT) << arena_unit(start);
}

static bool purge(void *start, size_t bytes)
{
    check_unused(start, bytes, false, "purged");
    memory_use(start, bytes);
    memset(start, 0, bytes);
    return true;
}

static bool forbid(void *start, size_t bytes)
{
    check_unused(start, bytes, false, "forbidden");
    simulated.forbidden |= units_between(start, bytes);
    simulated.forbids++;
    simulated.forbade[sim_self()] = true;
    return true;
}

static enum os_placed (*real_place)(void *start, size_t bytes, enum os_access access);

/* The pages of all units are there from the start on. The kernel has so many units at once, so the arena grows in steps
 * that are short. */
static enum os_placed place(void *start, size_t bytes, enum os_access access)
{
    enum { PLACED_UNITS = 5 };
    if (arena.committed_units == 0 || arena_unit(start) >= UNITS_MAX) {
        return real_place(start, bytes, access);
    }
    if (bytes > (size_t)PLACED_UNITS << UNIT_SHIFT) {
        return OS_NO_MEMORY;
    }
    check_unused(start, bytes, false, "mapped");
    memory_use(start, bytes);
    memset(start, 0, bytes);
    return OS_PLACED;
}

static bool (*real_commit)(void *start, size_t bytes);

/* Forbidden memory may be touched again. */
static bool commit(void *start, size_t bytes)
{
    if (!system_forbids(arena_unit(start))) {
        return real_commit(start, bytes);
    }
    check_unused(start, bytes, false, "committed");
    simulated.forbidden &= ~units_between(start, bytes);
    return true;
}

void system_start(void)
{
    real_place = os_calls.place;
    real_commit = os_calls.commit;
    simulated.now_ms = 1000;
    os_calls.now_ms = now_ms;
    os_calls.place = place;
    os_calls.purge = purge;
    os_calls.forbid = forbid;
    os_calls.commit = commit;
    os_calls.futex_wait = sim_futex_wait;
    os_calls.futex_wake_one = sim_futex_wake_one;
}

/* In place of what the engine calls by name. */

void (*system_fork_prepare)(void);
void (*system_fork_parent)(void);
void (*system_fork_child)(void);
void (*system_thread_ends)(void *thread);
void (*system_signal)(int number);

bool wrap_os_write(int fd, const char *text, size_t length) __asm__("__wrap_os_write");
bool wrap_os_signal_watch(int number, void (*handler)(int)) __asm__("__wrap_os_signal_watch");
uint64_t wrap_os_process_id(void) __asm__("__wrap_os_process_id");
size_t wrap_os_resident_bytes(void) __asm__("__wrap_os_resident_bytes");
bool wrap_os_has_threads(void) __asm__("__wrap_os_has_threads");
void wrap_os_streams_take(void) __asm__("__wrap_os_streams_take");
void wrap_os_streams_drop(bool in_child) __asm__("__wrap_os_streams_drop");
void wrap_os_signals_hold(struct os_signals *signals) __asm__("__wrap_os_signals_hold");
void wrap_os_signals_restore(const struct os_signals *signals) __asm__("__wrap_os_signals_restore");
int wrap_pthread_atfork(void (*prepare)(void), void (*parent)(void),
                        void (*child)(void)) __asm__("__wrap_pthread_atfork");
int real_pthread_key_create(pthread_key_t *key, void (*destroy)(void *)) __asm__("__real_pthread_key_create");
int wrap_pthread_key_create(pthread_key_t *key, void (*destroy)(void *)) __asm__("__wrap_pthread_key_create");

bool wrap_os_write(int fd, const char *text, size_t length)
{
    char line[sizeof "tslab: epoch 'e1234' closed with 1234 survivor"];
    unsigned label;
    unsigned survivors;
    (void)fd;
    snprintf(line, sizeof line, "%.*s", (int)min_size(length, sizeof line - 1), text);
    if (sscanf(line, "tslab: epoch 'e%u' closed with %u", &label, &survivors) == 2) {
        simulated.told[label % TOLD_MAX] = survivors;
    }
    return true;
}

bool wrap_os_signal_watch(int number, void (*handler)(int))
{
    (void)number;
    system_signal = handler;
    return true;
}

uint64_t wrap_os_process_id(void)
{
    return 1 + simulated.process;
}

size_t wrap_os_resident_bytes(void)
{
    return 0;
}

/* libc does not know the rig's threads, and no lock of the rig may be held, for many a fork is left in the middle. */
bool wrap_os_has_threads(void)
{
    return true;
}

void wrap_os_streams_take(void)
{
}

void wrap_os_streams_drop(bool in_child)
{
    (void)in_child;
}

void wrap_os_signals_hold(struct os_signals *signals)
{
    signals->held = false;
}

void wrap_os_signals_restore(const struct os_signals *signals)
{
    (void)signals;
}

int wrap_pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
    if (system_fork_prepare != NULL) {
        sim_fail("the fork handlers are set twice");
    }
    system_fork_prepare = prepare;
    system_fork_parent = parent;
    system_fork_child = child;
    return 0;
}

int wrap_pthread_key_create(pthread_key_t *key, void (*destroy)(void *))
{
    system_thread_ends = destroy;
    return real_pthread_key_create(key, destroy);
}
