// What the programs that measure epochs share: failing, random sizes from a seed, clocks, memory from /proc, arguments.
// tslab's functions are weak, so the same binary runs on any allocator; only what needs epochs needs tslab.

#ifndef PROGRAM_H
#define PROGRAM_H

#include <tslab/tslab.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#pragma weak tslab_epoch_close_sized
#pragma weak tslab_epoch_enter
#pragma weak tslab_epoch_leave
#pragma weak tslab_epoch_malloc
#pragma weak tslab_epoch_of
#pragma weak tslab_epoch_open_sized

enum { PAGE_KIB = 4 };

static const char *program_name;

_Noreturn static inline void fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", program_name, what);
    abort();
}

_Noreturn static inline void usage(const char *names)
{
    fprintf(stderr, "usage: %s %s\n", program_name, names);
    exit(2);
}

static inline uint64_t number_of(const char *word, uint64_t least, uint64_t most, const char *names)
{
    char *end;
    errno = 0;
    const uint64_t number = strtoull(word, &end, 10);
    if (errno != 0 || *end != '\0' || end == word || *word == '-' || number < least || number > most) {
        usage(names);
    }
    return number;
}

// The generator is xorshift64*.
static inline uint32_t random_between(uint64_t *state, uint32_t least, uint32_t most)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    const uint64_t high = (*state * UINT64_C(0x2545F4914F6CDD1D)) >> 32;
    return least + (uint32_t)((high * (most - least + 1)) >> 32);
}

// One thread is measured by the processor's time that it used, which other work on the machine disturbs least.
static inline double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

// Page by page, as the kernel counts it for this call: VmRSS may lag by many pages. Does not allocate.
static inline int64_t rss_kib(void)
{
    static char text[8192];
    const int fd = open("/proc/self/smaps_rollup", O_RDONLY | O_CLOEXEC);
    const ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (length < 0) {
        fail("cannot read /proc/self/smaps_rollup");
    }
    close(fd);
    text[length] = '\0';
    const char *found = strstr(text, "\nRss:");
    if (found == NULL) {
        fail("/proc/self/smaps_rollup has no line Rss:");
    }
    return strtoll(found + strlen("\nRss:"), NULL, 10);
}

// Touched: no part of what grows while something is measured.
static inline void *table_map(size_t bytes)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE;
    void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (start == MAP_FAILED) {
        fail("cannot map a table");
    }
    return start;
}

static inline tslab_epoch open_epoch(enum tslab_policy policy, unsigned flags)
{
    const struct tslab_epoch_options options = { .policy = policy, .flags = flags };
    const tslab_epoch epoch = tslab_epoch_open(&options);
    if (epoch.id == 0) {
        fail("an epoch cannot be opened");
    }
    return epoch;
}

static inline void enter_epoch(tslab_epoch epoch, int wanted)
{
    if (tslab_epoch_enter(epoch) != wanted) {
        fail("an epoch is not entered as it should be");
    }
}

static inline void leave_epoch(tslab_epoch epoch)
{
    if (tslab_epoch_leave(epoch) != TSLAB_OK) {
        fail("an epoch cannot be left");
    }
}

static inline void close_epoch(tslab_epoch epoch, unsigned how)
{
    if (tslab_epoch_close(epoch, how, NULL) != TSLAB_OK) {
        fail("an epoch is not closed");
    }
}

static inline void require_epochs(void)
{
    if (tslab_epoch_open_sized == NULL) {
        fprintf(stderr, "%s: this needs tslab: run it with LD_PRELOAD=.../libtslab-malloc.so\n", program_name);
        exit(2);
    }
}

#endif
