/* How a program of this directory says that the library broke a promise: a sentence on stderr that names the
 * operation, then abort, which every front end sees. */
#ifndef FAILURE_H
#define FAILURE_H

#include <stdbool.h>
#include <stdint.h>

/* The result of a run, in memory that a supervisor and forked children share, where there are any. */
struct progress {
    uint64_t operation; /* that is being done: the number of its record */
    uint64_t reports;   /* lines on stderr that were asked for by TSLAB_POLICY_REPORT */
    uint64_t misused;   /* what a child is about to misuse */
    uint64_t expected;  /* and what may come of it: misuse.c */
};
extern struct progress *progress;

_Noreturn void failure(const char *file, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));

#define CHECK(condition)          ((condition) ? (void)0 : failure(__FILE__, __LINE__, "not so: %s", #condition))
#define CHECK_SAY(condition, ...) ((condition) ? (void)0 : failure(__FILE__, __LINE__, __VA_ARGS__))

void check_status(int found, int wanted, const char *call, const char *file, int line);
#define STATUS(call, wanted) check_status((call), (wanted), #call, __FILE__, __LINE__)

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

#endif
