/* Threads that count, as those do that a program makes on the drop-in (core/company.h). For programs with the internal
 * functions. */
#ifndef TESTS_COMMON_COMPANY_H
#define TESTS_COMMON_COMPANY_H

#include "check.h"

#include "core/company.h"
#include "core/current.h"

#include <pthread.h>

struct counted {
    void *(*routine)(void *);
    void *argument;
};

static void *run_counted(void *argument)
{
    const struct counted counted = *(struct counted *)argument;
    free(argument);
    CHECK(current_notice_end());
    return counted.routine(counted.argument);
}

static void make_counted(pthread_t *thread, void *(*routine)(void *), void *argument)
{
    struct counted *const counted = malloc(sizeof *counted);
    CHECK(counted != NULL && current_count());
    *counted = (struct counted){ routine, argument };
    company_grow();
    CHECK(pthread_create(thread, NULL, run_counted, counted) == 0);
    company_settle();
}

#endif
