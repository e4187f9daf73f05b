/* The operating system, as the engine sees it: the only place that makes system calls.
 *
 * Every call goes through one small table. Tests replace entries, to make calls fail in turn or to inject a clock; the
 * simulation replaces the futex by its scheduler. Functions that return bool say true on success and leave errno alone
 * where they succeed. */
#ifndef TSLAB_OS_OS_H
#define TSLAB_OS_OS_H

#include "base/atomic.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What os_place can answer, and what access it gives. */
enum os_placed { OS_PLACED, OS_TAKEN, OS_NO_MEMORY };
enum os_access { OS_ACCESS_READ, OS_ACCESS_WRITE };

struct os_calls {
    /* Maps fresh pages, which read as zero, at just these addresses. OS_TAKEN: somebody has some of them, or the kernel
     * does not let anybody have them. OS_NO_MEMORY: memory is short, or a limit is reached. */
    enum os_placed (*place)(void *start, size_t bytes, enum os_access access);
    /* Takes writing away from pages of ours, with what they hold: they read as zero, and count as no memory, until they
     * are committed again. False when the kernel refuses. */
    bool (*seal)(void *start, size_t bytes);
    /* Reserves addresses without access, wherever the kernel likes; NULL when it refuses. */
    void *(*reserve)(size_t bytes);
    /* Gives back a reservation or a mapping. False when the kernel refuses, which it does where it would have to split
     * a mapping of its own and may not have one more: nothing has changed then. */
    bool (*unmap)(void *start, size_t bytes);
    /* Makes pages of ours readable and writable (again). False when memory is short. */
    bool (*commit)(void *start, size_t bytes);
    /* Takes the access to pages away, until they are committed again. False when the kernel refuses: it may have taken
     * that to a part of them. */
    bool (*forbid)(void *start, size_t bytes);
    /* Gives pages back to the system; they keep their addresses and read as zero. False: they keep their contents. */
    bool (*purge)(void *start, size_t bytes);
    /* A readable and writable mapping of its own; NULL when memory is short. */
    void *(*map)(size_t bytes);
    /* Milliseconds of a clock that never goes back, coarse to a few milliseconds; 0 when the system does not tell. */
    uint64_t (*now_ms)(void);
    void (*futex_wait)(atomic_u32 *word, uint32_t expected);
    void (*futex_wake_one)(atomic_u32 *word);
};

extern struct os_calls os_calls;

static inline enum os_placed os_place(void *start, size_t bytes, enum os_access access)
{
    return os_calls.place(start, bytes, access);
}

static inline bool os_seal(void *start, size_t bytes)
{
    return os_calls.seal(start, bytes);
}

static inline void *os_reserve(size_t bytes)
{
    return os_calls.reserve(bytes);
}

static inline bool os_unmap(void *start, size_t bytes)
{
    return os_calls.unmap(start, bytes);
}

static inline bool os_commit(void *start, size_t bytes)
{
    return os_calls.commit(start, bytes);
}

static inline bool os_forbid(void *start, size_t bytes)
{
    return os_calls.forbid(start, bytes);
}

static inline bool os_purge(void *start, size_t bytes)
{
    return os_calls.purge(start, bytes);
}

static inline void *os_map(size_t bytes)
{
    return os_calls.map(bytes);
}

static inline uint64_t os_now_ms(void)
{
    return os_calls.now_ms();
}

/* For reports: how long ago that was, by a clock that may have failed then or now. */
static inline uint64_t os_ms_since(uint64_t then_ms)
{
    const uint64_t now_ms = os_now_ms();
    return now_ms > then_ms ? now_ms - then_ms : 0;
}

static inline void os_futex_wait(atomic_u32 *word, uint32_t expected)
{
    os_calls.futex_wait(word, expected);
}

static inline void os_futex_wake_one(atomic_u32 *word)
{
    os_calls.futex_wake_one(word);
}

/* The size of a page: asked once, then remembered. */
size_t os_page_bytes(void);

/* The addresses that a process of this kind has, a power of two. */
size_t os_address_space(void);

/* Whether mappings may be put anywhere in it. ThreadSanitizer and MemorySanitizer keep most of it for themselves, and
 * end a program that maps something there. */
bool os_may_choose_addresses(void);

/* A number to choose a place by: nobody can guess it, unless the process asked for addresses that are the same in each
 * run (debuggers do): then it is the same in each, too. */
uint64_t os_random_place(void);

/* The resident memory of this process; 0 when the system does not tell. Some microseconds. */
size_t os_resident_bytes(void);

/* A number that nobody can guess. */
uint64_t os_random(void);

/* Whether the process runs with more rights than who started it: nothing of the environment is trusted then. */
bool os_is_privileged(void);

/* Whether the process may have more threads than the calling one. False is certain; true stays, where libc knows no
 * better, also when the others have ended. */
bool os_has_threads(void);

/* The lock of libc's list of streams, which libc's fork takes after all fork handlers when there are threads, and which
 * another thread may hold while it waits for a stream whose holder allocates. Recursive. In the child of a fork it is
 * free afterwards, however often it was taken. Nothing where libc has no such lock. */
void os_streams_take(void);
void os_streams_drop(bool in_child);

/* Holds all signals back from the calling thread, and restores what was held back before. */
struct os_signals {
    sigset_t before;
    bool held;
};
void os_signals_hold(struct os_signals *signals);
void os_signals_restore(const struct os_signals *signals);
/* Which process this is, and what program it runs: the last part of its path, "" before libc has started. Both may be
 * asked for anywhere, also in a signal handler. */
uint64_t os_process_id(void);
const char *os_program_name(void);

/* Writes all of it, or gives up silently, for there is nobody to tell: false, and what was not written is lost. Raises
 * no signal where nobody reads any more, or a file may not grow. Preserves errno. */
bool os_write(int fd, const char *text, size_t length);

#endif
