// A program with the drop-in inside: threads, forks between them, and an epoch in which plain malloc lands.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <tslab/tslab.h>
#include <unistd.h>

enum { THREADS = 4, FORKS = 20, ROUNDS = 100000 };

static void *work(void *seed)
{
    unsigned state = (unsigned)(size_t)seed;
    for (int i = 0; i < ROUNDS; i++) {
        const size_t bytes = (size_t)rand_r(&state) % 2000 + 1;
        char *object = malloc(bytes);
        if (object == NULL) {
            return NULL;
        }
        memset(object, i, bytes);
        free(object);
    }
    return malloc(77);
}

int main(void)
{
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, work, (void *)(i + 1)) != 0) {
            return 1;
        }
    }
    for (int i = 0; i < FORKS; i++) {
        const pid_t child = fork();
        if (child == 0) {
            free(malloc(100));
            _exit(0);
        }
        int status;
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
            return 2;
        }
    }
    for (size_t i = 0; i < THREADS; i++) {
        void *object = NULL;
        if (pthread_join(threads[i], &object) != 0 || tslab_usable_size(object) < 77) {
            return 3;
        }
        free(object);
    }
    // Only where malloc is tslab's does it land in an epoch.
    const tslab_epoch epoch = tslab_epoch_open(NULL);
    struct tslab_epoch_report report;
    if (tslab_epoch_enter(epoch) != TSLAB_OK) {
        return 4;
    }
    void *volatile survivor = malloc(1000); // else the compiler may do without both malloc and free
    if (tslab_epoch_leave(epoch) != TSLAB_OK || tslab_epoch_close(epoch, 0, &report) != TSLAB_OK) {
        return 5;
    }
    free(survivor);
    return report.survivors == 1 ? 0 : 6;
}
