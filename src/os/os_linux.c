/* Linux behind the table of calls, and what else the engine asks of the system. errno is left alone. */
#include "os/os.h"

#include "base/bits.h"
#include "os/clock.h"
#include "os/given.h"
#include "os/newer.h"
#include "os/system_call.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <time.h>

/* Of <linux/futex.h>, which other compilers than the system's often lack. */
enum { FUTEX_WAIT_PRIVATE = 128, FUTEX_WAKE_PRIVATE = 129 };

static bool linux_unmap(void *start, size_t bytes)
{
    return SYSTEM_CALL(munmap, start, bytes) == 0;
}

static bool advise(void *start, size_t bytes, int advice)
{
    return SYSTEM_CALL(madvise, start, bytes, advice) == 0;
}

/* NULL: the kernel refuses. */
static void *map(void *start, size_t bytes, int protection, int flags)
{
    return system_call_address(SYSTEM_CALL(mmap, start, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0));
}

/* Without huge pages, unless somebody asks for them: a huge page that is touched once is 2 MiB of memory. */
static void use_small_pages(void *start, size_t bytes)
{
    (void)advise(start, bytes, MADV_NOHUGEPAGE);
}

/* The address is a hint, which the kernel follows where nothing is mapped. A flag that insists would say no more, and
 * there are sandboxes that end a program for it. */
static enum os_placed place_all(char *start, size_t bytes, int protection)
{
    void *const placed = map(start, bytes, protection, 0);
    if (placed == NULL) {
        return OS_NO_MEMORY;
    }
    if (placed != start) {
        (void)linux_unmap(placed, bytes);
        return OS_TAKEN;
    }
    return OS_PLACED;
}

/* Linux 6.7 to 6.12 follows no hint where a huge page has room in the mapping, and the mapping just fits between its
 * neighbours. So what does not go as a whole goes in parts. */
static enum os_placed linux_place(void *start, size_t bytes, enum os_access access)
{
    enum { PART_BYTES = 1 << 20 }; /* the shortest part, in which no huge page has room */
    const int protection = access == OS_ACCESS_WRITE ? PROT_READ | PROT_WRITE : PROT_READ;
    enum os_placed placed = OS_PLACED;
    size_t done = 0;
    for (size_t part = bytes; part != 0 && placed != OS_NO_MEMORY;) {
        placed = place_all((char *)start + done, part, protection);
        if (placed == OS_PLACED) {
            done += part;
            part = bytes - done;
        } else {
            part = part > PART_BYTES ? round_up(part / 2, PART_BYTES) : 0;
        }
    }
    if (placed == OS_PLACED) {
        use_small_pages(start, bytes);
    } else if (done != 0) {
        (void)linux_unmap(start, done);
    }
    return placed;
}

static void *map_anywhere(size_t bytes, int protection, int flags)
{
    void *const start = map(NULL, bytes, protection, flags);
    if (start != NULL) {
        use_small_pages(start, bytes);
    }
    return start;
}

static void *linux_reserve(size_t bytes)
{
    return map_anywhere(bytes, PROT_NONE, MAP_NORESERVE);
}

static void *linux_map(size_t bytes)
{
    return map_anywhere(bytes, PROT_READ | PROT_WRITE, 0);
}

static bool linux_commit(void *start, size_t bytes)
{
    return SYSTEM_CALL(mprotect, start, bytes, PROT_READ | PROT_WRITE) == 0;
}

static bool linux_forbid(void *start, size_t bytes)
{
    return SYSTEM_CALL(mprotect, start, bytes, PROT_NONE) == 0;
}

static bool linux_purge(void *start, size_t bytes)
{
    return advise(start, bytes, MADV_DONTNEED);
}

/* 0, or the number of an error. */
static int move_mapping(void *from, size_t bytes, void *to, size_t longer)
{
    const long result = SYSTEM_CALL(mremap, from, bytes, longer, MREMAP_MAYMOVE | MREMAP_FIXED, to);
    return system_call_address(result) == to ? 0 : (int)-result;
}

/* Whether one call moves neighbouring mappings, which it then makes no longer (Linux 6.17). Such a kernel looks at the
 * mappings before it unmaps anything. */
static bool moves_neighbours(void)
{
    enum { UNKNOWN, NO, YES };
    static atomic_u32 answer;
    if (load_plain(&answer) == UNKNOWN) {
        const size_t page = os_page_bytes();
        char *const start = linux_reserve(4 * page);
        if (start == NULL) {
            return false;
        }
        if (!linux_commit(start, page)) {
            (void)linux_unmap(start, 4 * page);
            return false;
        }
        char *const target = start + 2 * page;
        const bool moved = move_mapping(start, 2 * page, target, 2 * page) == 0;
        (void)linux_unmap(moved ? target : start, 2 * page);
        store_plain(&answer, moved ? YES : NO);
    }
    return load_plain(&answer) == YES;
}

/* The kernel may unmap the target, and then fail to move the pages. Then the target is mapped again. Whether it did is
 * not told: where the target is still mapped, it counts as lost, for the mapping could be somebody else's by now. */
static enum os_moved linux_move(void *from, size_t bytes, void *to, size_t longer)
{
    const bool neighbours = moves_neighbours();
    int why = move_mapping(from, bytes, to, longer);
    if (why == EFAULT && neighbours) {
        why = move_mapping(from, bytes, to, bytes);
        if (why == 0) { /* the rest is mapped, but for kernels to come that unmap it first */
            (void)linux_place((char *)to + bytes, longer - bytes, OS_ACCESS_WRITE);
        }
    }
    const bool is_ours = why == 0 || why == EINVAL || linux_place(to, longer, OS_ACCESS_WRITE) == OS_PLACED;
    return why == 0 ? OS_MOVED : is_ours ? OS_NOT_MOVED : OS_TARGET_LOST;
}

/* The longest line of a short file of the kernel's. */
enum { FILE_LINE_BYTES = 128 };

static bool linux_huge_on_request(void)
{
    char modes[FILE_LINE_BYTES];
    (void)os_read_file("/sys/kernel/mm/transparent_hugepage/enabled", modes, sizeof modes);
    return strstr(modes, "[madvise]") != NULL || strstr(modes, "[always]") != NULL;
}

static bool linux_allow_huge(void *start, size_t bytes, bool allowed)
{
    return advise(start, bytes, allowed ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

static uint64_t linux_now_ms(void)
{
    const struct timespec now = clock_read(CLOCK_MONOTONIC_COARSE);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void linux_futex_wait(atomic_u32 *word, uint32_t expected, uint32_t most_ms)
{
    const struct timespec most = { .tv_sec = most_ms / 1000, .tv_nsec = most_ms % 1000 * 1000000L };
    (void)SYSTEM_CALL(futex, word, FUTEX_WAIT_PRIVATE, expected, most_ms == 0 ? NULL : &most);
}

static void linux_futex_wake_one(atomic_u32 *word)
{
    (void)SYSTEM_CALL(futex, word, FUTEX_WAKE_PRIVATE, 1);
}

struct os_calls os_calls = {
    .place = linux_place,
    .reserve = linux_reserve,
    .unmap = linux_unmap,
    .commit = linux_commit,
    .forbid = linux_forbid,
    .purge = linux_purge,
    .move = linux_move,
    .huge_on_request = linux_huge_on_request,
    .allow_huge = linux_allow_huge,
    .map = linux_map,
    .now_ms = linux_now_ms,
    .futex_wait = linux_futex_wait,
    .futex_wake_one = linux_futex_wake_one,
};

size_t os_page_bytes(void)
{
    return os_given(OS_GIVEN_PAGE_BYTES);
}

size_t os_address_space(void)
{
    /* The kernel puts the first stack at the upper end, and on it the random bytes of AT_RANDOM. */
    const int here = 0;
    const uintptr_t seed = os_given(OS_GIVEN_RANDOM);
    const uintptr_t high = seed != 0 ? seed : (uintptr_t)&here;
    return (size_t)2 << bit_highest(high);
}

size_t os_resident_bytes(void)
{
    char line[FILE_LINE_BYTES];
    uint64_t pages;
    (void)os_read_file("/proc/self/statm", line, sizeof line);
    return os_number_behind(line, " ", &pages) ? pages * os_page_bytes() : 0;
}

/* Not of getrusage, whose figure a program inherits from the one that has started it. */
noinline size_t os_peak_resident_bytes(void)
{
    char status[1024];
    uint64_t kib;
    (void)os_read_file("/proc/self/status", status, sizeof status);
    return os_number_behind(status, "\nVmHWM:", &kib) ? kib << 10 : 0;
}

bool os_pages_resident(size_t first, size_t count, unsigned char *bytes)
{
    const size_t page = os_page_bytes();
    return SYSTEM_CALL(mincore, first * page, count * page, bytes) == 0;
}

uint64_t os_random(void)
{
    uint64_t number = 0;
    /* Early at boot there may be no randomness yet. Fall back to AT_RANDOM, which the kernel always supplies. It is
     * mixed, because the stack protector uses it too. */
    if (SYSTEM_CALL(getrandom, &number, sizeof number, GRND_NONBLOCK) != sizeof number) {
        const void *const seed = (const void *)os_given(OS_GIVEN_RANDOM);
        if (seed != NULL) {
            memcpy(&number, seed, sizeof number);
        }
        number *= 0x9e3779b97f4a7c15u;
    }
    return number;
}

/* Defined by the runtimes of all sanitizers; NULL where there is none. */
extern void __sanitizer_set_report_fd(void *fd) __attribute__((weak));

bool os_is_sanitized(void)
{
    return __sanitizer_set_report_fd != NULL;
}

/* Defined by those that keep most of the address space for themselves. */
extern void __tsan_init(void) __attribute__((weak));
extern void __msan_init(void) __attribute__((weak));

bool os_has_thread_sanitizer(void)
{
    return __tsan_init != NULL;
}

bool os_may_choose_addresses(void)
{
    return __tsan_init == NULL && __msan_init == NULL;
}

uint64_t os_random_place(void)
{
    enum { ASK = -1 };
    const long kind = SYSTEM_CALL(personality, (unsigned)ASK);
    return kind >= 0 && (kind & ADDR_NO_RANDOMIZE) != 0 ? 0 : os_random();
}

/* Libc may lack these, and then they are NULL. glibc has all of them since 2.32. */
extern char __libc_single_threaded __attribute__((weak));
extern void _IO_list_lock(void) __attribute__((weak));
extern void _IO_list_unlock(void) __attribute__((weak));
extern void _IO_list_resetlock(void) __attribute__((weak));

/* A name known without libc. */
enum { NOT_WATCHED, NONE_CAME, SOME_CAME };
static atomic_u32 threads_seen;

bool os_has_threads(void)
{
    return &__libc_single_threaded == NULL ? load_plain(&threads_seen) != NONE_CAME : __libc_single_threaded == 0;
}

void os_watch_threads(void)
{
    uint32_t seen = NOT_WATCHED;
    (void)cas_plain(&threads_seen, &seen, NONE_CAME);
}

void os_thread_comes(void)
{
    if (load_plain(&threads_seen) != SOME_CAME) {
        store_plain(&threads_seen, SOME_CAME);
    }
}

static bool has_streams_lock(void)
{
    return _IO_list_lock != NULL && _IO_list_unlock != NULL && _IO_list_resetlock != NULL;
}

void os_streams_take(void)
{
    if (has_streams_lock()) {
        _IO_list_lock();
    }
}

/* Libc resets the lock in the child only if it believed, before the first fork handler ran, that there were threads. To
 * reset it once more is right in both cases. To unlock it would not be. */
void os_streams_drop(bool in_child)
{
    if (has_streams_lock()) {
        (in_child ? _IO_list_resetlock : _IO_list_unlock)();
    }
}

void os_signals_hold(struct os_signals *signals)
{
    sigset_t all;
    (void)sigfillset(&all);
    signals->held = pthread_sigmask(SIG_SETMASK, &all, &signals->before) == 0;
}

void os_signals_restore(const struct os_signals *signals)
{
    if (signals->held) {
        (void)pthread_sigmask(SIG_SETMASK, &signals->before, NULL);
    }
}

bool os_signal_watch(int number, void (*handler)(int))
{
    struct sigaction before, action = { .sa_handler = handler, .sa_flags = SA_RESTART | SA_ONSTACK };
    (void)sigemptyset(&action.sa_mask);
    return sigaction(number, NULL, &before) == 0 && before.sa_handler == SIG_DFL &&
           sigaction(number, &action, NULL) == 0;
}

/* Libc knows the number, and tells it as a part of the thread's clock: inverted, above three bits. Where it does not
 * know yet, because it is not initialised, the kernel is asked. */
uint32_t os_thread_id(void)
{
    clockid_t clock;
    return pthread_getcpuclockid(pthread_self(), &clock) == 0 ? ~(uint32_t)(clock >> 3)
                                                              : (uint32_t)SYSTEM_CALL(gettid, 0);
}

/* A path around a number. */
enum { PROC_PATH_BYTES = 40 };
static void proc_path(char path[PROC_PATH_BYTES], const char *before, uint32_t number, const char *after)
{
    char digits[10];
    size_t count = 0;
    size_t at = 0;
    for (; before[at] != 0; at++) {
        path[at] = before[at];
    }
    do {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    while (count > 0) {
        path[at++] = digits[--count];
    }
    memcpy(path + at, after, strlen(after) + 1);
}

const char *os_thread_name(uint32_t thread, char name[OS_NAME_BYTES])
{
    char path[PROC_PATH_BYTES];
    proc_path(path, "/proc/self/task/", thread, "/comm");
    const size_t length = os_read_file(path, name, OS_NAME_BYTES);
    if (length > 0 && name[length - 1] == '\n') {
        name[length - 1] = 0;
    }
    return name;
}

uint64_t os_process_id(void)
{
    return (uint64_t)SYSTEM_CALL(getpid, 0);
}

/* The second number behind "Uid:". */
bool os_user_of(uint32_t process, uint32_t *user)
{
    static const char name[] = "\nUid:\t";
    char path[PROC_PATH_BYTES];
    char status[1024];
    uint64_t number;
    proc_path(path, "/proc/", process, "/status");
    (void)os_read_file(path, status, sizeof status);
    const char *const at = strstr(status, name);
    const bool is_known = os_number_behind(at == NULL ? "" : at + sizeof name - 1, "\t", &number);
    *user = (uint32_t)number;
    return is_known;
}

/* A file's name has at most 255 bytes. */
static char program_name[256];

static const char *last_part(const char *path)
{
    const char *const slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* Libc's name is empty before libc is initialised. */
static const char *program_name_now(void)
{
    const char *const file = (const char *)os_given(OS_GIVEN_PROGRAM);
    return program_invocation_short_name[0] == 0 && file != NULL ? last_part(file) : program_invocation_short_name;
}

void os_keep_program_name(const char *argument)
{
    const char *name = argument != NULL ? last_part(argument) : "";
    name = name[0] != 0 ? name : program_name_now();
    for (size_t i = 0; i < sizeof program_name - 1 && name[i] != 0; i++) {
        const unsigned char byte = (unsigned char)name[i];
        program_name[i] = byte <= ' ' || byte == 0x7f || byte == '/' ? '_' : name[i];
    }
}

const char *os_program_name(void)
{
    return program_name[0] != 0 ? program_name : program_name_now();
}
