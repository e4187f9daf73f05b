/* Shared by the tests of the drop-in. They are ordinary programs that know nothing of tslab: each must pass on the
 * system's malloc too, because that is the behaviour they pin down. Exit code 0 is success, 77 is "cannot be tested
 * here". */
#ifndef CHECK_H
#define CHECK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK_SKIPPED 77

/* A hang is a failure: after so long on a machine that does much else. A child ends before its parent, which then says
 * so. */
enum { CHILD_HANG_SECONDS = 60, HANG_SECONDS = 100 };

/* Ends the program with the sentence on stderr. It does not allocate, and _exit leaves a forked child's stdio alone. */
__attribute__((noreturn, format(printf, 3, 4))) static inline void check_failed(const char *file, int line,
                                                                                const char *format, ...)
{
    char text[1024];
    int used = snprintf(text, sizeof text, "%s:%d: ", file, line);
    va_list arguments;
    va_start(arguments, format);
    used += vsnprintf(text + used, sizeof text - (size_t)used, format, arguments);
    va_end(arguments);
    size_t length = (size_t)used < sizeof text - 1 ? (size_t)used : sizeof text - 2;
    text[length] = '\n';
    ssize_t written = write(STDERR_FILENO, text, length + 1);
    (void)written;
    _exit(1);
}

#define CHECK(condition)          ((condition) ? (void)0 : check_failed(__FILE__, __LINE__, "not so: %s", #condition))
#define CHECK_SAY(condition, ...) ((condition) ? (void)0 : check_failed(__FILE__, __LINE__, __VA_ARGS__))
#define COUNT_OF(array)           (sizeof(array) / sizeof(array)[0])

/* A word of a command line that says how much is to be done. No number, or 0, is a mistake of the caller's: a test that
 * does nothing would pass. */
static inline size_t check_count(const char *word)
{
    char *end;
    const unsigned long long count = strtoull(word, &end, 10);
    CHECK_SAY(*end == 0 && count > 0 && count <= INT32_MAX, "%s is no number of 1 or more", word);
    return (size_t)count;
}

/* The compiler must not see that a block is never used, or it removes the call that is under test. */
static inline void *keep(void *pointer)
{
    __asm__ volatile("" : "+r"(pointer) : : "memory");
    return pointer;
}

/* Hides a constant from the compiler, which would warn of an absurd size or answer for the library. */
static inline size_t unseen(size_t value)
{
    __asm__ volatile("" : "+r"(value));
    return value;
}

/* The word at a place of the pattern: it differs by seed and place, so that neither a shifted nor a foreign copy
 * passes. */
static inline uint64_t pattern_word(uint64_t seed, size_t at)
{
    return (seed + 1 + at) * 0x9e3779b97f4a7c15u + seed;
}

static inline void pattern_fill(void *block, size_t size, uint64_t seed)
{
    unsigned char *bytes = (unsigned char *)block;
    for (size_t at = 0; at < size; at += 8) {
        uint64_t word = pattern_word(seed, at);
        if (size - at >= 8)
            __builtin_memcpy(bytes + at, &word, 8);
        else
            memcpy(bytes + at, &word, size - at);
    }
}

/* Whether the first size bytes are still as pattern_fill with the same seed left them, when it filled as many or more.
 */
static inline int pattern_holds(const void *block, size_t size, uint64_t seed)
{
    const unsigned char *bytes = (const unsigned char *)block;
    for (size_t at = 0; at < size; at += 8) {
        uint64_t word = pattern_word(seed, at), found = word;
        if (size - at >= 8)
            __builtin_memcpy(&found, bytes + at, 8);
        else
            memcpy(&found, bytes + at, size - at);
        if (found != word)
            return 0;
    }
    return 1;
}

static inline int all_zero(const void *block, size_t size)
{
    const unsigned char *bytes = (const unsigned char *)block;
    return size == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0);
}

/* A field of a file about this process, as "\nVmSize:", in KiB, without stdio and without an allocation. */
static inline size_t kib_of(const char *file, const char *field)
{
    char text[4096];
    int descriptor = open(file, O_RDONLY);
    CHECK(descriptor >= 0);
    ssize_t length = read(descriptor, text, sizeof text - 1);
    close(descriptor);
    CHECK(length > 0);
    text[length] = 0;
    const char *line = strstr(text, field);
    CHECK(line != NULL);
    return strtoul(line + strlen(field), NULL, 10);
}

/* Resident memory, exactly: statm may lag behind. */
static inline size_t resident_kib(void)
{
    return kib_of("/proc/self/smaps_rollup", "\nRss:");
}

static inline size_t mapped_kib(void)
{
    return kib_of("/proc/self/status", "\nVmSize:");
}

/* A small random generator (xorshift) with its state at the caller: no locks, the same on every run. */
static inline uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Takes out the call stacks that a checked library says below its line: tests/misuse/backtrace.py. */
static inline void cut_stacks(char *said)
{
    char *kept = said;
    while (*said != 0) {
        const size_t length = strcspn(said, "\n") + (strchr(said, '\n') != NULL);
        if (strncmp(said, "  #", 3) != 0) {
            memmove(kept, said, length);
            kept += length;
        }
        said += length;
    }
    *kept = 0;
}

#endif
