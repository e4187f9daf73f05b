// What programs that are measured share: clocks, random numbers from a seed, their own memory, and tables that are no
// part of what is measured. Nothing here allocates. A program says in its own words why it fails.

#ifndef SELF_H
#define SELF_H

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

_Noreturn static void fail(const char *what);

// The generator is xorshift64*. Both halves of its result are of use; the high bits are the better ones.
static inline uint64_t random_step(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545F4914F6CDD1D);
}

static inline uint32_t high_below(uint64_t random, uint32_t bound)
{
    return (uint32_t)(((random >> 32) * bound) >> 32);
}

static inline double clock_seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

// One thread is measured by the processor's time that it used, which other work on the machine disturbs least.
static inline double cpu_seconds(void)
{
    return clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
}

static inline void sleep_ms(uint64_t ms)
{
    struct timespec left = { (time_t)(ms / 1000), (long)(ms % 1000) * 1000000 };
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

// Less than 8 KiB of text.
typedef struct {
    char text[8192];
} proc_file;

static inline void proc_read(proc_file *file, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, file->text, sizeof file->text - 1);
    if (length < 0) {
        fail("cannot read in /proc/self");
    }
    close(fd);
    file->text[length] = '\0';
}

// -1: the file has no such line.
static inline long kib_in(const proc_file *file, const char *key)
{
    const char *found = strstr(file->text, key);
    return found == NULL ? -1 : strtol(found + strlen(key), NULL, 10);
}

static inline long proc_kib(const char *path, const char *key)
{
    proc_file file;
    proc_read(&file, path);
    return kib_in(&file, key);
}

static inline long self_peak_kib(void)
{
    return proc_kib("/proc/self/status", "VmHWM:");
}

// `private_kib`: of this process alone. `huge_kib`: in huge pages.
typedef struct {
    long rss_kib;
    long pss_kib;
    long private_kib;
    long huge_kib;
} self_weight;

// Page by page, as the kernel counts it for this call: VmRSS in status may lag by many pages.
static inline self_weight self_weigh(void)
{
    proc_file file;
    proc_read(&file, "/proc/self/smaps_rollup");
    long of_own = kib_in(&file, "\nPrivate_Clean:") + kib_in(&file, "\nPrivate_Dirty:");
    self_weight now = { kib_in(&file, "\nRss:"), kib_in(&file, "\nPss:"), of_own, kib_in(&file, "\nAnonHugePages:") };
    if (now.rss_kib < 0) {
        fail("/proc/self/smaps_rollup has no line Rss:");
    }
    return now;
}

static inline long self_rss_kib(void)
{
    return self_weigh().rss_kib;
}

// Of this process and of the children that it has waited for.
typedef struct {
    double system_seconds;
    long faults;
} self_costs;

static inline self_costs self_spent(void)
{
    self_costs sum = { 0, 0 };
    for (int who = 0; who < 2; who++) {
        struct rusage used;
        getrusage(who == 0 ? RUSAGE_SELF : RUSAGE_CHILDREN, &used);
        sum.system_seconds += (double)used.ru_stime.tv_sec + (double)used.ru_stime.tv_usec / 1e6;
        sum.faults += used.ru_minflt + used.ru_majflt;
    }
    return sum;
}

// Zeroed and touched.
static inline void *table_map(size_t bytes)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE;
    void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (start == MAP_FAILED) {
        fail("cannot map a table");
    }
    return start;
}

#endif
