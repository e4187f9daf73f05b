/* Threads, where libc does not tell whether there are any: as glibc before 2.32, and musl. */
#define __libc_single_threaded unknown_to_this_libc
#include "os/os_linux.c"

#include "child.h"

TEST(threads_that_are_watched_are_known)
{
    assert_true(os_has_threads()); /* nobody watches */
    os_watch_threads();
    assert_false(os_has_threads());
    os_thread_comes();
    assert_true(os_has_threads());
    os_watch_threads();
    assert_true(os_has_threads());
}

TEST(a_thread_that_comes_first_is_not_forgotten)
{
    store_plain(&threads_seen, NOT_WATCHED);
    os_thread_comes();
    os_watch_threads();
    assert_true(os_has_threads());
}
