// Runs a program to its end and says what it took, as a last line on standard output. It stands between the lab and the
// program because the kernel counts a child's peak RSS from the fork on: a child of the lab would start with the lab's
// own, many times that of a small program. It is linked statically, so that no preloaded library makes it larger,
// either.
//
//     spent PROGRAM ARGUMENTS...

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

int main(int count, char **words)
{
    if (count < 2) {
        fputs("usage: spent PROGRAM ARGUMENTS...\n", stderr);
        return 2;
    }
    pid_t child = fork();
    if (child == 0) {
        execv(words[1], words + 1);
        perror(words[1]);
        _exit(127);
    }
    int status;
    struct rusage usage;
    if (child < 0 || wait4(child, &status, 0, &usage) != child) {
        perror("spent");
        return 1;
    }
    printf("\n{\"seconds\": %.6f, \"peak_kib\": %ld}", seconds(usage.ru_utime) + seconds(usage.ru_stime),
           usage.ru_maxrss);
    if (fflush(stdout) != 0) {
        perror("spent");
        return 1;
    }
    return end_like(status);
}
