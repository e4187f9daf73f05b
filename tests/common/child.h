/* Runs a function in a forked child, where the engine has not started yet, and keeps what it said on stderr. The checks
 * inside are those of check.h: a failed one says so on stderr and ends the child with exit code 1. */
#ifndef CHILD_H
#define CHILD_H

#include "workers.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct child {
    pid_t pid;
    int status; /* as of waitpid */
    char said[8192];
    unsigned refusals; /* lines that name a limit, which are not in `said` */
    char refused[300]; /* the last of them */
};

static inline void child_set_refusals_apart(struct child *child)
{
    const char *words;
    while ((words = strstr(child->said, "]: refused ")) != NULL && strchr(words, '\n') != NULL) {
        const char *const end = strchr(words, '\n') + 1;
        char *start = child->said + (words - child->said);
        while (start > child->said && start[-1] != '\n') {
            start--;
        }
        snprintf(child->refused, sizeof child->refused, "%.*s", (int)(end - start), start);
        memmove(start, end, strlen(end) + 1);
        child->refusals++;
    }
}

/* The body gets the argument. To return from it is exit code 0. */
static inline struct child child_run(void (*body)(const void *), const void *argument)
{
    struct child child;
    memset(&child, 0, sizeof child);
    int file;
    /* The test framework would catch what kills the child, and go on with the next test in it. */
    static const int deadly[] = { SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGSYS };
    void (*handlers[COUNT_OF(deadly)])(int);
    for (size_t i = 0; i < COUNT_OF(deadly); i++) {
        handlers[i] = signal(deadly[i], SIG_DFL);
    }
    child.pid = fork_heard(&file);
    if (child.pid == 0) {
        alarm(0); /* the test's own patience */
        body(argument);
        _exit(0);
    }
    for (size_t i = 0; i < COUNT_OF(deadly); i++) {
        signal(deadly[i], handlers[i]);
    }
    child.status = child_heard(child.pid, file, child.said, sizeof child.said);
    /* An emulator says on the same stream what its program died of. */
    char *const emulator = strstr(child.said, "qemu: uncaught target signal");
    if (emulator != NULL) {
        *emulator = '\0';
    }
    cut_stacks(child.said);
    child_set_refusals_apart(&child);
    return child;
}

/* The text behind the name of the process in the line by which the library ended the child; NULL: there is no such
 * line. */
static inline const char *child_last_words(const struct child *child)
{
    char start[64];
    const int length =
        snprintf(start, sizeof start, "tslab[%d %.32s]: ", (int)child->pid, program_invocation_short_name);
    const char *const end = strchr(child->said, '\n');
    return strncmp(child->said, start, (size_t)length) == 0 && end != NULL && end[1] == 0 ? child->said + length : NULL;
}

/* The child said that this was done to p, and so much `about` it, and nothing else. */
static inline bool child_said(const struct child *child, const char *what, const void *p, const char *about)
{
    char line[256];
    snprintf(line, sizeof line, "%s %#llx%s\n", what, (unsigned long long)(uintptr_t)p, about);
    const char *const said = child_last_words(child);
    return said != NULL && strcmp(said, line) == 0;
}

/* The same, with what the library may say about p: its bytes, its epoch with that label (NULL: none), and its state. */
static inline bool child_said_of(const struct child *child, const char *what, const void *p, const char *label)
{
    static const char *const states[] = { "", ", closed", ", draining", ", gone" };
    const char *const said = child_last_words(child);
    const char *const about = said == NULL ? NULL : strstr(said, " (");
    const size_t bytes = about == NULL ? 0 : strtoull(about + 2, NULL, 10);
    char expected[128];
    if (child_said(child, what, p, "")) {
        return true;
    }
    snprintf(expected, sizeof expected, " (%zu bytes)", bytes);
    if (bytes != 0 && child_said(child, what, p, expected)) {
        return true;
    }
    for (size_t i = 0; i < COUNT_OF(states) && label != NULL; i++) {
        snprintf(expected, sizeof expected, " (epoch '%s'%s)", label, states[i]);
        if (child_said(child, what, p, expected)) {
            return true;
        }
        snprintf(expected, sizeof expected, " (%zu bytes, epoch '%s'%s)", bytes, label, states[i]);
        if (bytes != 0 && child_said(child, what, p, expected)) {
            return true;
        }
    }
    return false;
}

/* The child did all it should, and said nothing else than `said`. */
static inline void child_succeeds(void (*body)(const void *), const void *argument, const char *said)
{
    const struct child child = child_run(body, argument);
    assert_string_equal(child.said, said);
    assert_int_equal(child.status, 0);
}

/* Tests are listed where they are defined, and run in this order (listed.c, which has the main function, too). */
extern struct CMUnitTest tests_listed[];
extern size_t tests_count;

void test_listed(int line, const char *name, void (*test)(void **), const void *state);

int tests_run(void);
/* All, or those that a pattern on the command line names, of which there has to be one, or the body of one. */
int tests_main(int argc, char **argv);
extern void (*tests_body)(const void *state); /* after --body and a name */

#define AT_LINE(name, line)  name##_##line
#define AT_LINE_(name, line) AT_LINE(name, line)
#define LISTED(name, test, state)                                                                                      \
    __attribute__((constructor)) static void AT_LINE_(listed, __LINE__)(void)                                          \
    {                                                                                                                  \
        test_listed(__LINE__, #name, test, state);                                                                     \
    }

/* TEST(name) { ... }: a test of its own. The others run their bodies in a child, or in one for each element of an
 * array, which is the argument. */
#define TEST(name)                                                                                                     \
    static void name(void **state);                                                                                    \
    LISTED(name, name, NULL)                                                                                           \
    static void name(void **state)

struct child_case {
    void (*body)(const void *);
    const void *argument;
    size_t count, size;
};

static inline void child_case_runs(void **state)
{
    const struct child_case *const one = (const struct child_case *)*state;
    for (size_t i = 0; i < one->count; i++) {
        child_succeeds(one->body, one->argument == NULL ? NULL : (const char *)one->argument + i * one->size, "");
    }
}

#define IN_CHILDREN_OF(name, arguments, count, size)                                                                   \
    static void name(const void *argument);                                                                            \
    static const struct child_case name##_case = { name, arguments, count, size };                                     \
    LISTED(name, child_case_runs, &name##_case)                                                                        \
    static void name(const void *argument)
#define IN_A_CHILD(name)           IN_CHILDREN_OF(name, NULL, 1, 0)
#define IN_A_CHILD_IF(holds, name) IN_CHILDREN_OF(name, NULL, (holds) ? 1 : 0, 0)
#define IN_CHILDREN(name, array)   IN_CHILDREN_OF(name, array, COUNT_OF(array), sizeof(array)[0])

/* The child aborted. */
static inline int child_aborted(const struct child *child)
{
    return WIFSIGNALED(child->status) && WTERMSIG(child->status) == SIGABRT;
}

/* The kernel reads it, or refuses to. */
static inline bool is_readable(const void *p)
{
    int ends[2];
    CHECK(pipe(ends) == 0);
    const bool readable = write(ends[1], p, 1) == 1;
    CHECK(readable || errno == EFAULT);
    close(ends[0]);
    close(ends[1]);
    return readable;
}

#endif
