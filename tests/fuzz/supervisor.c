#include "supervisor.h"

#include "failure.h"
#include "world.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_SECONDS = 100, GOOD = 42 };

/* What TSLAB_REPORT says. */
static const char asked_for[] = "tslab: epoch ";

static _Noreturn void give_up(const char *what)
{
    fprintf(stderr, "fuzz: %s: %s\n", what, strerror(errno));
    exit(2);
}

void supervisor_begin(char **argv)
{
    const int now = personality(0xffffffff);
    if (now != -1 && (now & ADDR_NO_RANDOMIZE) == 0 && personality((unsigned)now | ADDR_NO_RANDOMIZE) != -1 &&
        (personality(0xffffffff) & ADDR_NO_RANDOMIZE) != 0) {
        execv("/proc/self/exe", argv);
    }
}

/* The line at `at`, which ends at the return value. */
static const char *line_end(const char *at, const char *end)
{
    const char *const newline = memchr(at, '\n', (size_t)(end - at));
    return newline == NULL ? end : newline + 1;
}

/* Sorts out what a case said; returns how many lines were asked for. */
static uint64_t read_said(int file, char *said, size_t room)
{
    const off_t length = lseek(file, 0, SEEK_END);
    if (length <= 0) {
        said[0] = 0;
        return 0;
    }
    const char *const text = mmap(NULL, (size_t)length, PROT_READ, MAP_PRIVATE, file, 0);
    if (text == MAP_FAILED) {
        give_up("what a case said cannot be read");
    }
    uint64_t asked = 0;
    size_t used = 0;
    const char *next;
    for (const char *at = text; at < text + length; at = next) {
        next = line_end(at, text + length);
        const size_t bytes = (size_t)(next - at);
        if (bytes >= sizeof asked_for && memcmp(at, asked_for, sizeof asked_for - 1) == 0) {
            asked++;
        } else if (used + bytes < room) {
            memcpy(said + used, at, bytes);
            used += bytes;
        }
    }
    said[used] = 0;
    munmap((void *)(uintptr_t)text, (size_t)length);
    return asked;
}

static _Noreturn void be_the_case(int file, const uint8_t *records, size_t bytes)
{
    dup2(file, STDERR_FILENO);
    alarm(PATIENCE_SECONDS);
    world_run(records, bytes);
    _exit(GOOD);
}

struct outcome supervised_run(const uint8_t *records, size_t bytes)
{
    static struct progress *shared;
    if (shared == NULL) {
        shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (shared == MAP_FAILED) {
            give_up("there is no shared memory");
        }
        progress = shared;
    }
    *shared = (struct progress){ 0 };
    const int file = memfd_create("fuzz", MFD_CLOEXEC);
    if (file < 0 || fcntl(file, F_SETFL, O_APPEND) != 0) {
        give_up("there is no file in memory");
    }
    const pid_t child = fork();
    if (child < 0) {
        give_up("there is no process for a case");
    }
    if (child == 0) {
        be_the_case(file, records, bytes);
    }
    int status;
    while (waitpid(child, &status, 0) != child) {
    }
    struct outcome outcome = { .operation = shared->operation };
    const uint64_t asked = read_said(file, outcome.said, sizeof outcome.said);
    close(file);
    outcome.good = WIFEXITED(status) && WEXITSTATUS(status) == GOOD && outcome.said[0] == 0;
    if (outcome.good && asked != shared->reports) {
        outcome.good = false;
        snprintf(outcome.said, sizeof outcome.said, "%llu epochs were reported on stderr, not %llu\n",
                 (unsigned long long)asked, (unsigned long long)shared->reports);
    } else if (outcome.said[0] == 0 && !outcome.good) {
        snprintf(outcome.said, sizeof outcome.said, "it ended with %s %d\n",
                 WIFSIGNALED(status) ? "signal" : "exit code",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    }
    return outcome;
}

void supervisor_say(const char *name, const struct outcome *outcome)
{
    fprintf(stderr, "fuzz: %s fails in operation %llu:\n%s", name, (unsigned long long)outcome->operation,
            outcome->said);
}

void supervisor_save(const char *path, const uint8_t *records, size_t bytes)
{
    FILE *const file = fopen(path, "wb");
    if (file == NULL || fwrite(records, 1, bytes, file) != bytes || fclose(file) != 0) {
        give_up(path);
    }
}
