#include "supervisor.h"

#include "failure.h"
#include "settings.h"
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

/* The variable that says that the program is to run a case, and nothing else. */
#define FOR_A_CASE "FUZZ_CASE"

/* The output of TSLAB_POLICY_REPORT and TSLAB_STATS. */
static const char asked_for[] = "tslab: epoch ";
static const char statistics[] = "tslab statistics\n", json_statistics[] = "{\"schema\":\"tslab-statistics\",";

static _Noreturn void give_up(const char *what)
{
    fprintf(stderr, "fuzz: %s: %s\n", what, strerror(errno));
    exit(2);
}

/* Where a case finds its records and what it shares. */
enum { RECORDS_FILE = 3, PROGRESS_FILE = 4 };

static void *shared_pages(int file, size_t bytes)
{
    void *const pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (pages == MAP_FAILED) {
        give_up("there is no shared memory");
    }
    return pages;
}

/* This program was started for a case. Its output at the end, where it was asked for any, is told apart later. */
static _Noreturn void run_the_case(void)
{
    const off_t bytes = lseek(RECORDS_FILE, 0, SEEK_END);
    const uint8_t *const records = shared_pages(RECORDS_FILE, (size_t)bytes);
    progress = shared_pages(PROGRESS_FILE, sizeof *progress);
    world_run(records, (size_t)bytes);
    if (settings_of(records).stats != 0) {
        exit(GOOD);
    }
    _exit(GOOD);
}

void supervisor_begin(char **argv)
{
    if (getenv(FOR_A_CASE) != NULL) {
        run_the_case();
    }
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

struct said {
    uint64_t asked; /* lines of TSLAB_POLICY_REPORT */
    unsigned stats; /* what was printed at the end: as the option is, 0 for nothing */
};

static bool starts_with(const char *at, size_t bytes, const char *start)
{
    return bytes >= strlen(start) && memcmp(at, start, strlen(start)) == 0;
}

/* Sorts out what a case said: the rest, which nobody asked for, goes into `rest`. */
static struct said read_said(int file, char *rest, size_t room)
{
    struct said said = { 0 };
    const off_t length = lseek(file, 0, SEEK_END);
    rest[0] = 0;
    if (length <= 0) {
        return said;
    }
    const char *const text = mmap(NULL, (size_t)length, PROT_READ, MAP_PRIVATE, file, 0);
    if (text == MAP_FAILED) {
        give_up("what a case said cannot be read");
    }
    size_t used = 0;
    const char *next;
    for (const char *at = text; at < text + length && said.stats != 1; at = next) {
        next = line_end(at, text + length);
        const size_t bytes = (size_t)(next - at);
        if (starts_with(at, bytes, asked_for)) {
            said.asked++;
        } else if (starts_with(at, bytes, statistics)) {
            said.stats = 1; /* it is the last, and has many lines */
        } else if (starts_with(at, bytes, json_statistics) && starts_with(next - 3, 3, "]}\n") && said.stats == 0) {
            said.stats = 2;
        } else if (used + bytes < room) {
            memcpy(rest + used, at, bytes);
            used += bytes;
        }
    }
    rest[used] = 0;
    munmap((void *)(uintptr_t)text, (size_t)length);
    return said;
}

/* A file in memory, beyond the numbers that a case finds its files under. */
static int new_file(const char *name)
{
    const int file = memfd_create(name, MFD_CLOEXEC);
    const int beyond = file < 0 ? -1 : fcntl(file, F_DUPFD_CLOEXEC, PROGRESS_FILE + 1);
    if (beyond < 0) {
        give_up("there is no file in memory");
    }
    close(file);
    return beyond;
}

/* The program again, from its beginning, with the settings of the case. */
static _Noreturn void be_the_case(const uint8_t *records, int said_file, int records_file, int progress_file)
{
    const struct settings settings = settings_of(records);
    settings_export(&settings);
    setenv(FOR_A_CASE, "1", 1);
    dup2(said_file, STDERR_FILENO);
    dup2(records_file, RECORDS_FILE);
    dup2(progress_file, PROGRESS_FILE);
    alarm(PATIENCE_SECONDS);
    char self[4096] = "";
    if (getenv("EMULATOR") != NULL && readlink("/proc/self/exe", self, sizeof self - 1) > 0) {
        execl("/bin/sh", "sh", "-c", "exec $EMULATOR \"$0\"", self, (char *)NULL);
    }
    execl("/proc/self/exe", "fuzz", (char *)NULL);
    give_up("the program cannot be started again");
}

static void judge(struct outcome *outcome, int status, const struct said *said, unsigned stats)
{
    outcome->good = WIFEXITED(status) && WEXITSTATUS(status) == GOOD && outcome->said[0] == 0;
    if (outcome->good && said->asked != progress->reports) {
        outcome->good = false;
        snprintf(outcome->said, sizeof outcome->said, "%llu epochs were reported on stderr, not %llu\n",
                 (unsigned long long)said->asked, (unsigned long long)progress->reports);
    } else if (outcome->good && said->stats != stats) {
        outcome->good = false;
        snprintf(outcome->said, sizeof outcome->said, "at its end it printed statistics as %u, not as %u\n",
                 said->stats, stats);
    } else if (outcome->said[0] == 0 && !outcome->good) {
        snprintf(outcome->said, sizeof outcome->said, "it ended with %s %d\n",
                 WIFSIGNALED(status) ? "signal" : "exit code",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    }
}

struct outcome supervised_run(const uint8_t *records, size_t bytes)
{
    static int progress_file = -1;
    if (progress_file < 0) {
        progress_file = new_file("progress");
        if (ftruncate(progress_file, sizeof *progress) != 0) {
            give_up("there is no shared memory");
        }
        progress = shared_pages(progress_file, sizeof *progress);
    }
    *progress = (struct progress){ 0 };
    const int said_file = new_file("said"), records_file = new_file("records");
    if (fcntl(said_file, F_SETFL, O_APPEND) != 0 || write(records_file, records, bytes) != (ssize_t)bytes) {
        give_up("there is no file in memory");
    }
    const pid_t child = fork();
    if (child < 0) {
        give_up("there is no process for a case");
    }
    if (child == 0) {
        be_the_case(records, said_file, records_file, progress_file);
    }
    int status;
    while (waitpid(child, &status, 0) != child) {
    }
    struct outcome outcome = { .operation = progress->operation };
    const struct said said = read_said(said_file, outcome.said, sizeof outcome.said);
    close(said_file);
    close(records_file);
    judge(&outcome, status, &said, settings_of(records).stats);
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
