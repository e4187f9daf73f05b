/* Forks while another library's fork handlers wait for its threads (library.c), and other threads allocate. Each hung
 * at the first fork or the second, while its handlers ran inside of the allocator's. */
#include "check.h"
#include "workers.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>

enum { FORKS = 30, WORKERS = 2 };

extern void library_work(void);
static atomic_bool done;

static void *work(void *unused)
{
    while (!done) {
        library_work();
    }
    return unused;
}

int main(void)
{
    alarm(HANG_SECONDS);
    pthread_t workers[WORKERS];
    threads_begin(workers, WORKERS, work, NULL, 0);
    for (int i = 0; i < FORKS; i++) {
        const pid_t pid = fork();
        if (pid == 0) {
            alarm(CHILD_HANG_SECONDS);
            library_work();
            free(keep(malloc(100)));
            _exit(0);
        }
        child_ends_well(pid);
    }
    done = true;
    threads_end(workers, WORKERS);
    return 0;
}
