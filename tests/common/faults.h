/* Lets calls of the operating system fail: those of one kind, from one on and up to another, counted from 0. The table
 * of the calls is replaced, so the program needs the internal functions of the library.
 *
 * Where FAULTS_SITES names a file, every place of the engine whose call has failed is noted there (sites.py). */
#ifndef FAULTS_H
#define FAULTS_H

#include "check.h"

#include "os/os.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>

enum call { PLACE, RESERVE, UNMAP, COMMIT, FORBID, PURGE, MOVE, ASK_HUGE, HUGE, MAP, CLOCK, WAIT, WAKE, CALLS };

static const char *const call_names[CALLS] = { "place",  "reserve",    "unmap",           "commit",     "forbid",
                                               "purge",  "move",       "huge_on_request", "allow_huge", "map",
                                               "now_ms", "futex_wait", "futex_wake_one" };

static struct os_calls real; /* as it was before the first fault */
static enum call failing;
static unsigned fail_from, fail_until;
static enum os_placed place_fails_by = OS_NO_MEMORY;
static atomic_uint calls_made[CALLS];
static atomic_size_t bytes_mapped; /* by map, less what unmap took back */

/* A place is known by where its call returns to. */
static inline void note_site(enum call call, const char *site)
{
    extern const char __executable_start[];
    static const char *_Atomic noted[256];
    const char *const file = getenv("FAULTS_SITES");
    size_t i = 0;
    for (const char *found = NULL; file != NULL && i < COUNT_OF(noted); i++, found = NULL) {
        if (atomic_compare_exchange_strong(&noted[i], &found, site)) {
            break;
        }
        if (found == site) {
            return;
        }
    }
    if (file != NULL) {
        char line[64];
        const int length = snprintf(line, sizeof line, "%s %#tx\n", call_names[call], site - __executable_start);
        const int fd = open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
        CHECK(fd >= 0 && write(fd, line, (size_t)length) == length);
        close(fd);
    }
}

static inline bool fails(enum call call, const void *site)
{
    const unsigned n = atomic_fetch_add(&calls_made[call], 1);
    const bool failed = call == failing && n >= fail_from && n < fail_until;
    if (failed) {
        const int saved = errno;
        note_site(call, (const char *)site);
        errno = saved;
    }
    return failed;
}

/* Those that must leave errno alone do so here, too, when they fail. */

#define SITE __builtin_return_address(0)

static inline enum os_placed faulty_place(void *start, size_t bytes, enum os_access access)
{
    return fails(PLACE, SITE) ? place_fails_by : real.place(start, bytes, access);
}

static inline void *faulty_reserve(size_t bytes)
{
    if (fails(RESERVE, SITE)) {
        errno = ENOMEM;
        return NULL;
    }
    return real.reserve(bytes);
}

static inline bool faulty_unmap(void *start, size_t bytes)
{
    const bool done = !fails(UNMAP, SITE) && real.unmap(start, bytes);
    atomic_fetch_sub(&bytes_mapped, done ? bytes : 0);
    return done;
}

static inline bool faulty_commit(void *start, size_t bytes)
{
    if (fails(COMMIT, SITE)) {
        errno = ENOMEM;
        return false;
    }
    return real.commit(start, bytes);
}

static inline bool faulty_forbid(void *start, size_t bytes)
{
    return !fails(FORBID, SITE) && real.forbid(start, bytes);
}

static inline bool faulty_purge(void *start, size_t bytes)
{
    return !fails(PURGE, SITE) && real.purge(start, bytes);
}

static inline enum os_moved faulty_move(void *from, size_t bytes, void *to, size_t longer)
{
    return fails(MOVE, SITE) ? OS_NOT_MOVED : real.move(from, bytes, to, longer);
}

static inline bool faulty_ask_huge(void)
{
    return !fails(ASK_HUGE, SITE) && real.huge_on_request();
}

static inline bool faulty_huge(void *start, size_t bytes, bool allowed)
{
    return !fails(HUGE, SITE) && real.allow_huge(start, bytes, allowed);
}

static inline void *faulty_map(size_t bytes)
{
    if (fails(MAP, SITE)) {
        errno = ENOMEM;
        return NULL;
    }
    void *const start = real.map(bytes);
    atomic_fetch_add(&bytes_mapped, start == NULL ? 0 : bytes);
    return start;
}

/* A clock that fails reads 0; and one that is wrong in every other way is no worse. */
static inline uint64_t faulty_clock(void)
{
    const uint64_t century_ms = (uint64_t)36525 * 24 * 3600 * 1000;
    const uint64_t now_ms = real.now_ms();
    const uint64_t wrong[] = { 0, now_ms + century_ms, now_ms, 1, now_ms / 2 };
    return fails(CLOCK, SITE) ? wrong[atomic_load(&calls_made[CLOCK]) % COUNT_OF(wrong)] : now_ms;
}

/* To return at once is what a signal, a stray wake and a word that has changed do. A kernel that wakes nobody does not
 * let anybody sleep either. */
static inline void faulty_wait(atomic_u32 *word, uint32_t expected, uint32_t most_ms)
{
    if (!fails(WAIT, SITE) && failing != WAKE) {
        real.futex_wait(word, expected, most_ms);
    }
}

static inline void faulty_wake(atomic_u32 *word)
{
    if (!fails(WAKE, SITE)) {
        real.futex_wake_one(word);
    }
}

/* One that stands until a test moves it on. */
static uint64_t clock_ms = 1000;

static inline uint64_t test_clock(void)
{
    return clock_ms;
}

static inline void inject(enum call call, unsigned from, unsigned until)
{
    if (real.map == NULL) {
        real = os_calls;
    }
    failing = call;
    fail_from = from;
    fail_until = until;
    os_calls = (struct os_calls){
        .place = faulty_place,
        .reserve = faulty_reserve,
        .unmap = faulty_unmap,
        .commit = faulty_commit,
        .forbid = faulty_forbid,
        .purge = faulty_purge,
        .move = faulty_move,
        .huge_on_request = faulty_ask_huge,
        .allow_huge = faulty_huge,
        .map = faulty_map,
        .now_ms = faulty_clock,
        .futex_wait = faulty_wait,
        .futex_wake_one = faulty_wake,
    };
}

/* From now on all succeed, and are counted. */
static inline void inject_nothing(void)
{
    inject(CALLS, 0, 0);
}

/* A failed hint refuses nobody. */
static inline bool is_hint(enum call call)
{
    return (call == PLACE && place_fails_by == OS_TAKEN) || call == UNMAP || call == FORBID || call == PURGE ||
           call == MOVE || call == ASK_HUGE || call == HUGE || call == CLOCK || call == WAIT || call == WAKE;
}

#endif
