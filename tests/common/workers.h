/* Threads and children of a test: each has to begin, and to end well. */
#ifndef WORKERS_H
#define WORKERS_H

#include "check.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { THREADS_MOST = 1024 };

static inline pthread_t thread_begin(void *(*body)(void *), void *argument)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, body, argument) == 0);
    return thread;
}

/* Waits for its end. Returns what it returned. */
static inline void *thread_end(pthread_t thread)
{
    void *result;
    CHECK(pthread_join(thread, &result) == 0);
    return result;
}

static inline void *in_a_thread(void *(*body)(void *), void *argument)
{
    return thread_end(thread_begin(body, argument));
}

/* The argument of each is so much further than that of the one before. */
static inline void threads_begin(pthread_t *threads, size_t count, void *(*body)(void *), void *first, size_t step)
{
    for (size_t i = 0; i < count; i++) {
        threads[i] = thread_begin(body, (void *)((uintptr_t)first + i * step));
    }
}

static inline void threads_end(const pthread_t *threads, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        (void)thread_end(threads[i]);
    }
}

/* Begins them, and waits for all. */
static inline void in_threads(size_t count, void *(*body)(void *), void *first, size_t step)
{
    pthread_t threads[THREADS_MOST];
    CHECK(count <= THREADS_MOST);
    threads_begin(threads, count, body, first, step);
    threads_end(threads, count);
}

/* Waits for a child's end, which has to be exit code 0. Its fork may have been refused. */
static inline void child_ends_well(pid_t child)
{
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK_SAY(status == 0, "the child of a fork ended with status %#x", (unsigned)status);
}

/* A child whose stderr the parent reads. It ends when it hangs, and leaves no core. */
static inline pid_t fork_heard(int *file)
{
    int ends[2];
    CHECK(pipe(ends) == 0);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        const struct rlimit no_core = { 0, 0 };
        (void)setrlimit(RLIMIT_CORE, &no_core);
        CHECK(dup2(ends[1], STDERR_FILENO) >= 0 && close(ends[0]) == 0 && close(ends[1]) == 0);
        alarm(CHILD_HANG_SECONDS);
    } else {
        close(ends[1]);
    }
    *file = ends[0];
    return child;
}

/* Reads a file to its end, closes it, and makes a string of what fits. Returns the string's length. */
static inline size_t read_to_end(int file, char *text, size_t capacity)
{
    size_t length = 0;
    ssize_t n;
    while (length < capacity - 1 && (n = read(file, text + length, capacity - 1 - length)) > 0) {
        length += (size_t)n;
    }
    text[length] = 0;
    close(file);
    return length;
}

/* Reads what a child says, and waits for its end. Returns the status. */
static inline int child_heard(pid_t child, int file, char *said, size_t capacity)
{
    int status;
    (void)read_to_end(file, said, capacity);
    CHECK(waitpid(child, &status, 0) == child);
    return status;
}

#endif
