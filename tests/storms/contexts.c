/*
 * Coroutines: contexts on stacks that the library gave, that allocate, take messages along, and are resumed by another
 * thread than the one that they stopped on. Each has an epoch that it is inside of while it runs.
 *
 *   contexts SWITCHES
 */
#include "storm.h"

#include <ucontext.h>

enum { WORKERS = 4, TASKS = 32, LIVE = 8, STACK_BYTES = 16 * 1024 };

struct task {
    ucontext_t context, worker; /* its own; that of the thread that runs it */
    atomic_bool taken;
    tslab_epoch epoch;
    uint64_t random;
    struct message *messages[LIVE];
    void *stack;
    bool over;
};

static struct task tasks[TASKS];
static atomic_size_t switches;
static size_t switches_wanted;

static void step(struct task *task)
{
    CHECK(tslab_epoch_enter(task->epoch) >= 0);
    for (int i = 0; i < 10; i++) {
        struct message **const at = &task->messages[below(&task->random, LIVE)];
        message_free(*at);
        *at = below(&task->random, 4) == 0 ? swap_in_flight(&task->random, NULL) : message_new(&task->random);
        void *const p = tslab_epoch_malloc(task->epoch, 100);
        CHECK(p != NULL && tslab_epoch_of(p).id == task->epoch.id);
        tslab_free(p);
    }
    STATUS(tslab_epoch_leave(task->epoch), TSLAB_OK);
}

static void run(unsigned index)
{
    struct task *const task = &tasks[index];
    while (switches < switches_wanted) {
        step(task);
        CHECK(swapcontext(&task->context, &task->worker) == 0);
    }
    for (size_t i = 0; i < LIVE; i++) {
        message_free(task->messages[i]);
    }
    STATUS(tslab_epoch_close(task->epoch, 0, NULL), TSLAB_OK);
    task->over = true;
    CHECK(swapcontext(&task->context, &task->worker) == 0);
}

static void start(unsigned index)
{
    struct task *const task = &tasks[index];
    task->random = index + 1;
    task->epoch = tslab_epoch_open(NULL);
    task->stack = tslab_malloc(STACK_BYTES);
    CHECK(task->stack != NULL && getcontext(&task->context) == 0);
    task->context.uc_stack = (stack_t){ .ss_sp = task->stack, .ss_size = STACK_BYTES };
    makecontext(&task->context, (void (*)(void))run, 1, index);
}

static bool all_are_over(void)
{
    bool over = true;
    for (size_t i = 0; i < TASKS; i++) {
        if (!atomic_exchange(&tasks[i].taken, true)) {
            over = over && tasks[i].over;
            tasks[i].taken = false;
        } else {
            over = false;
        }
    }
    return over;
}

static void *work(void *argument)
{
    uint64_t random = (uintptr_t)argument + 1;
    do {
        for (int i = 0; i < 4 * TASKS; i++) {
            struct task *const task = &tasks[below(&random, TASKS)];
            if (!atomic_exchange(&task->taken, true)) {
                if (!task->over) {
                    switches++;
                    CHECK(swapcontext(&task->worker, &task->context) == 0);
                }
                task->taken = false;
            }
        }
    } while (!all_are_over());
    return NULL;
}

int main(int argc, char **argv)
{
    switches_wanted = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
    CHECK_SAY(switches_wanted > 0, "usage: contexts SWITCHES");
    for (unsigned i = 0; i < TASKS; i++) {
        start(i);
    }
    pthread_t threads[WORKERS];
    storm_threads(threads, WORKERS, work, NULL, 1);
    threads_end(threads, WORKERS);
    for (size_t i = 0; i < TASKS; i++) {
        tslab_free(tasks[i].stack);
    }
    free_in_flight();
    const struct tslab_stats stats = storm_stats();
    CHECK_SAY(stats.live_bytes < 64 << 10, "%zu bytes live", stats.live_bytes);
    CHECK(stats.epochs_open == 0 && stats.epochs_draining == 0);
    return 0;
}
