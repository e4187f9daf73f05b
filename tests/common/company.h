/* Threads that count, as those do that a program makes on the drop-in (malloc/program_threads.h). For programs with the
 * internal functions. */
#ifndef TESTS_COMMON_COMPANY_H
#define TESTS_COMMON_COMPANY_H

#include "check.h"

#include "malloc/current_thread.h"
#include "malloc/program_threads.h"

#include <pthread.h>

struct counted {
    void *(*routine)(void *);
    void *argument;
};

static void *run_counted(void *argument)
{
    const struct counted counted = *(struct counted *)argument;
    free(argument);
    CHECK(current_thread_notice_end());
    return counted.routine(counted.argument);
}

static void make_counted(pthread_t *thread, void *(*routine)(void *), void *argument)
{
    struct counted *const counted = malloc(sizeof *counted);
    CHECK(counted != NULL && current_count());
    *counted = (struct counted){ routine, argument };
    program_threads_grow();
    CHECK(pthread_create(thread, NULL, run_counted, counted) == 0);
    program_threads_settle();
}

#endif
