/* A mapping at chosen addresses: where they are free, where they are not, and on kernels that follow a hint only where
 * there is room for more (Linux 6.7 to 6.12). The kernel is asked without flags that a sandbox might not know, and what
 * somebody else has mapped stays. */
#include "child.h"
#include "trap.h"

#include "os/fatal.h"
#include "os/os.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { HUGE_PAGE = 2 << 20 };

static bool wants_room; /* as those kernels */
static unsigned maps;

static bool is_free(char *start, size_t bytes)
{
    void *const placed = (void *)syscall(SYS_mmap, start, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);
    CHECK(placed != MAP_FAILED && syscall(SYS_munmap, placed, bytes) == 0);
    return placed == start;
}

/* In place of the kernel's. */
static long mapped(const struct trapped_call *call)
{
    struct trapped_call now = *call;
    char *const start = (char *)call->words[0];
    const size_t bytes = (size_t)call->words[1];
    if (call->number == SYS_mmap) {
        maps++;
        if (start != NULL) {
            CHECK(call->words[3] == (MAP_PRIVATE | MAP_ANONYMOUS));
            now.words[0] = wants_room && bytes >= HUGE_PAGE && !is_free(start, bytes + HUGE_PAGE) ? 0 : now.words[0];
        }
    }
    return trap_pass(&now);
}

/* The library is in the program. */
static void watch_maps(void)
{
    extern char __executable_start, etext;
    CHECK(trap_calls((uintptr_t)&__executable_start, (uintptr_t)&etext, mapped));
}

static bool is_mapped(char *at)
{
    const int saved = errno;
    const bool mapped = msync(at, os_page_bytes(), MS_ASYNC) == 0;
    errno = saved;
    return mapped;
}

/* So many bytes that are free, between two pages that are not. */
static char *hole(size_t bytes)
{
    const size_t page = os_page_bytes();
    char *const all = mmap(NULL, bytes + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(all != MAP_FAILED && munmap(all + page, bytes) == 0);
    all[0] = all[page + bytes] = 7;
    return all + page;
}

static void check_hole(char *start, size_t bytes)
{
    CHECK(start[-1] == 0 && start[-(ptrdiff_t)os_page_bytes()] == 7 && start[bytes] == 7);
    for (size_t at = 0; at < bytes; at += os_page_bytes()) {
        CHECK(!is_mapped(start + at));
    }
}

static const size_t sizes[] = { 64 << 10, HUGE_PAGE, HUGE_PAGE + (64 << 10), 17 << 20, 64 << 20 };

static void place_in_a_hole(const void *argument)
{
    watch_maps();
    wants_room = argument != NULL;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char *const start = hole(sizes[i]);
        maps = 0;
        errno = 1234;
        CHECK(os_place(start, sizes[i], OS_ACCESS_WRITE) == OS_PLACED && errno == 1234);
        CHECK_SAY(maps <= (wants_room ? 20 : 1), "%u calls", maps);
        memset(start, 1, sizes[i]);
        CHECK(start[-1] == 0 && start[sizes[i]] == 7);
        CHECK(os_unmap(start, sizes[i]));
    }
}

static void place_where_something_is(const void *argument)
{
    const size_t page = os_page_bytes();
    watch_maps();
    wants_room = argument != NULL;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const size_t places[] = { 0, page, sizes[i] / 2 / page * page, sizes[i] - page };
        char *const start = hole(sizes[i]);
        for (size_t k = 0; k < sizeof places / sizeof places[0]; k++) {
            char *const theirs = start + places[k];
            CHECK(mmap(theirs, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == theirs);
            theirs[0] = 9;
            maps = 0;
            errno = 1234;
            CHECK(os_place(start, sizes[i], OS_ACCESS_READ) == OS_TAKEN && errno == 1234);
            CHECK_SAY(maps <= 32, "%u calls", maps);
            CHECK(theirs[0] == 9 && munmap(theirs, page) == 0);
            check_hole(start, sizes[i]);
        }
    }
}

IN_A_CHILD(a_limit_is_not_a_neighbour)
{
    watch_maps();
    const struct rlimit none = { 0 };
    char *const start = hole(HUGE_PAGE);
    maps = 0;
    CHECK(setrlimit(RLIMIT_AS, &none) == 0);
    errno = 1234;
    CHECK(os_place(start, HUGE_PAGE, OS_ACCESS_WRITE) == OS_NO_MEMORY && errno == 1234 && maps == 1);
}

TEST(a_hole_is_filled)
{
    child_succeeds(place_in_a_hole, NULL, "");
    child_succeeds(place_in_a_hole, state, "");
}

TEST(what_is_there_stays)
{
    child_succeeds(place_where_something_is, NULL, "");
    child_succeeds(place_where_something_is, state, "");
}

static void *number_of_thread(void *argument)
{
    return (void *)(uintptr_t)(os_thread_id() == (uint32_t)syscall(SYS_gettid));
}

/* libc's number of the thread is the kernel's. */
static void check_number(const void *argument)
{
    CHECK(number_of_thread(NULL) != NULL && in_a_thread(number_of_thread, NULL) != NULL);
}

TEST(a_thread_has_its_number)
{
    check_number(NULL);
    child_succeeds(check_number, NULL, "");
}
