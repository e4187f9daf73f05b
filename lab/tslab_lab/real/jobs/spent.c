// Runs a program to its end and says what it took, as a last line on standard output. It stands between the lab and the
// program because the kernel counts a child's peak RSS from the fork on: a child of the lab would start with the lab's
// own, many times that of a small program. It is linked statically, so that no preloaded library makes it larger,
// either.
//
//     spent TIMES PROGRAM ARGUMENTS...
//
// The figures are of all times together, the peak the largest.

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static double seconds(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

// Ends as the program did, so that whoever waits for us sees it.
static int end_like(int status)
{
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
    signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));
    return 128 + WTERMSIG(status);
}

static int run(char **words, struct rusage *usage)
{
    pid_t child = fork();
    if (child == 0) {
        execv(words[0], words);
        perror(words[0]);
        _exit(127);
    }
    int status;
    if (child < 0 || wait4(child, &status, 0, usage) != child) {
        perror("spent");
        exit(1);
    }
    return status;
}

int main(int count, char **words)
{
    long times = count < 3 ? 0 : strtol(words[1], NULL, 10);
    if (times < 1) {
        fputs("usage: spent TIMES PROGRAM ARGUMENTS...\n", stderr);
        return 2;
    }
    double user = 0;
    double system = 0;
    long peak = 0;
    long faults = 0;
    int status = 0;
    for (long i = 0; i < times && status == 0; i++) {
        struct rusage usage;
        status = run(words + 2, &usage);
        user += seconds(usage.ru_utime);
        system += seconds(usage.ru_stime);
        faults += usage.ru_minflt + usage.ru_majflt;
        peak = usage.ru_maxrss > peak ? usage.ru_maxrss : peak;
    }
    printf("\n{\"seconds\": %.6f, \"peak_kib\": %ld, \"system_seconds\": %.6f, \"faults\": %ld}", user + system, peak,
           system, faults);
    if (fflush(stdout) != 0) {
        perror("spent");
        return 1;
    }
    return end_like(status);
}
