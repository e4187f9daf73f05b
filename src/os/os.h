/* The operating system, as the engine sees it. Only this layer makes system calls.
 *
 * The calls that matter for memory, time and waiting go through one small table. Tests replace entries, to make calls
 * fail in turn or to inject a clock. The simulation replaces the futex by its scheduler. Functions that return bool
 * return true on success. errno is left alone. Threads: any. */
#ifndef TSLAB_OS_OS_H
#define TSLAB_OS_OS_H

#include "base/atomic.h"
#include "base/bits.h"
#include "os/file.h"
#include "os/ranks.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The answers of os_place, and the access that it can give. */
enum os_placed { OS_PLACED, OS_TAKEN, OS_NO_MEMORY };
enum os_access { OS_ACCESS_READ, OS_ACCESS_WRITE };

/* The answers of os_move. */
enum os_moved { OS_MOVED, OS_NOT_MOVED, OS_TARGET_LOST };

struct os_calls {
    /* Maps fresh pages, which read as zero, at exactly these addresses. OS_TAKEN: there is another mapping at some of
     * them, or the kernel allows none there. OS_NO_MEMORY: memory is short, or a limit is reached. */
    enum os_placed (*place)(void *start, size_t bytes, enum os_access access);
    /* Reserves addresses without access, where the kernel chooses. NULL when it refuses. */
    void *(*reserve)(size_t bytes);
    /* Gives back a reservation or a mapping. False when the kernel refuses, and then nothing has changed. It refuses
     * where it would have to split a mapping, and the process has the most mappings that it may have. */
    bool (*unmap)(void *start, size_t bytes);
    /* Makes pages of ours readable and writable (again). False when memory is short. */
    bool (*commit)(void *start, size_t bytes);
    /* Takes the access to pages away until they are committed again. False when the kernel refuses: a part of them may
     * have lost its access by then. */
    bool (*forbid)(void *start, size_t bytes);
    /* Gives pages back to the system. They keep their addresses and read as zero. False: they keep their contents. */
    bool (*purge)(void *start, size_t bytes);
    /* Moves the pages of `bytes` at `from` to the start of `longer` bytes at `to`, in place of those there. Both are
     * ours. Whatever the program has set for the pages moves with them, the rest at `to` reads as zero, and nothing is
     * mapped at `from` afterwards. OS_NOT_MOVED: the kernel refuses, and the pages at `to` hold anything.
     * OS_TARGET_LOST: it refuses, and the addresses at `to` are not ours any more. */
    enum os_moved (*move)(void *from, size_t bytes, void *to, size_t longer);
    /* Whether the system gives huge pages to those who ask for them, and to nobody else. Takes some microseconds. */
    bool (*huge_on_request)(void);
    /* Says of pages of ours whether a huge page may serve them. False when the kernel refuses, or has no huge pages. */
    bool (*allow_huge)(void *start, size_t bytes, bool allowed);
    /* A new readable and writable mapping. NULL when memory is short. */
    void *(*map)(size_t bytes);
    /* Milliseconds of a clock that never goes back, in steps of a few milliseconds. 0 when the system has none. */
    uint64_t (*now_ms)(void);
    /* Sleeps while the word is what is expected, for at most so many milliseconds (0: for ever). May return early. */
    void (*futex_wait)(atomic_u32 *word, uint32_t expected, uint32_t most_ms);
    /* Wakes one thread that sleeps on the word. */
    void (*futex_wake_one)(atomic_u32 *word);
};

extern struct os_calls os_calls;

/* Calls through the table. Those about memory are made under no lock that others wait for (ranks.h,
 * fatal.h). */
#define OS_MEMORY(call)    (invariant(ranks_allow_system_call()), os_calls.call)
#define os_place           OS_MEMORY(place)
#define os_reserve         OS_MEMORY(reserve)
#define os_unmap           OS_MEMORY(unmap)
#define os_commit          OS_MEMORY(commit)
#define os_forbid          OS_MEMORY(forbid)
#define os_purge           OS_MEMORY(purge)
#define os_move            OS_MEMORY(move)
#define os_allow_huge      OS_MEMORY(allow_huge)
#define os_map             OS_MEMORY(map)
#define os_huge_on_request os_calls.huge_on_request
#define os_now_ms          os_calls.now_ms
#define os_futex_wait      os_calls.futex_wait
#define os_futex_wake_one  os_calls.futex_wake_one

/* For reports: the milliseconds since a reading of the clock. 0 where the clock failed at either reading. */
static inline uint64_t os_ms_since(uint64_t then_ms)
{
    const uint64_t now_ms = os_now_ms();
    return now_ms > then_ms ? now_ms - then_ms : 0;
}

/* The size of a page. */
size_t os_page_bytes(void);

/* The size of this process's address space in bytes, a power of two. */
size_t os_address_space(void);

/* Whether the runtime of a sanitizer is in the process. It takes for granted that it is initialised before all else. */
bool os_is_sanitized(void);

/* Whether it is ThreadSanitizer. Its versions of libc's functions do not work before it has started. */
bool os_has_thread_sanitizer(void);

/* Whether mappings may lie anywhere in the address space. ThreadSanitizer and MemorySanitizer keep most of it for
 * themselves, and end a program that maps something there. */
bool os_may_choose_addresses(void);

/* A number by which to choose a place. It cannot be guessed, unless the process asked for the same addresses in each
 * run, as debuggers do. Then this number is the same in each run, too. */
uint64_t os_random_place(void);

/* The resident memory of this process in bytes; 0 when the system does not tell. Takes some microseconds. */
size_t os_resident_bytes(void);

/* The most that was resident since the program was started, in bytes; 0 when the system does not tell. */
size_t os_peak_resident_bytes(void);

/* Which of some pages of this process are resident, by number: the lowest bit of each byte. False: one of them is not
 * mapped. */
bool os_pages_resident(size_t first, size_t count, unsigned char *bytes);

/* A number that cannot be guessed. */
uint64_t os_random(void);

/* Whether the process may have other threads than the calling one. False is certain. Where libc knows no better, it
 * stays true after the other threads have ended. Where libc does not tell at all (glibc before 2.32, musl), it is true,
 * unless threads are watched: os_watch_threads says that os_thread_comes is called before each thread is made. */
bool os_has_threads(void);
void os_watch_threads(void);
void os_thread_comes(void);

/* Takes and drops the lock of libc's list of streams. When there are threads, libc's fork takes it after all fork
 * handlers. Another thread may hold it while it waits for a stream whose holder allocates. The lock is recursive. In
 * the child of a fork, dropping it once frees it, however often it was taken. Both do nothing where libc has no such
 * lock. */
void os_streams_take(void);
void os_streams_drop(bool in_child);

/* Blocks all signals for the calling thread, and restores the mask from before. */
struct os_signals {
    sigset_t before;
    bool held;
};
void os_signals_hold(struct os_signals *signals);
void os_signals_restore(const struct os_signals *signals);

/* Has a signal call a function, if its disposition is the default. False: it is not. */
bool os_signal_watch(int number, void (*handler)(int));

/* The number of the calling thread, without a system call, and the name of a thread of this process: "" when there is
 * none. */
enum { OS_NAME_BYTES = 17 };
uint32_t os_thread_id(void);
const char *os_thread_name(uint32_t thread, char name[OS_NAME_BYTES]);

/* The number of this process. Anywhere, also in a signal handler. */
uint64_t os_process_id(void);

/* Whether the user of another process is known: the one whose rights it has. */
bool os_user_of(uint32_t process, uint32_t *user);

/* The name of the program: the last part of its first argument, or of its file's path where it has none. Spaces,
 * control characters and slashes in it are underscores, so it fits into a file's name and a line. Programs write a
 * title over their arguments: os_keep_program_name makes a copy before the program runs; argument NULL: libc knows it.
 * The name anywhere, also in a signal handler. */
void os_keep_program_name(const char *argument);
const char *os_program_name(void);

#endif
