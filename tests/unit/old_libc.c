/* Threads, where libc does not tell whether there are any: as glibc before 2.32, and musl. */
#define __libc_single_threaded unknown_to_this_libc
#include "os/os_linux.c"

#include "child.h"

static void threads_that_are_watched_are_known(void **state)
{
    assert_true(os_has_threads()); /* nobody watches */
    os_watch_threads();
    assert_false(os_has_threads());
    os_thread_comes();
    assert_true(os_has_threads());
    os_watch_threads();
    assert_true(os_has_threads());
}

static void a_thread_that_comes_first_is_not_forgotten(void **state)
{
    store_plain(&threads_seen, NOT_WATCHED);
    os_thread_comes();
    os_watch_threads();
    assert_true(os_has_threads());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_that_are_watched_are_known),
        cmocka_unit_test(a_thread_that_comes_first_is_not_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
