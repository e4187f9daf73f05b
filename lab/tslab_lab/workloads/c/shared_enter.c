// shared-enter: threads enter one epoch, allocate, free and leave it, again and again, all of them the same epoch.
// Beside that, one thread by itself opens, enters, leaves and closes epochs, before and after an epoch of its own that
// a crowd of threads was inside of at once: what the crowd left behind is what the later epochs pay for.

#include "crew.h"
#include "use_epochs.h"

enum {
    CROWD_MOST = 4000,
    STACK_BYTES = 256 << 10,
    CYCLES_PART = 20, // of the operations, as many epochs are opened
};

static actor actors[THREADS_MOST + 1]; // the last is for what one thread does by itself
static unsigned thread_count;
static uint64_t part; // operations of one thread
static uint32_t size;
static double seconds_of[THREADS_MOST]; // of the processor, that each took for its part
static tslab_epoch shared;
static pthread_barrier_t all_inside;

static void visit(actor *a, tslab_epoch epoch)
{
    enter_epoch(epoch, TSLAB_OK);
    void *object = object_make(a, size);
    object_drop(a, object);
    leave_epoch(epoch);
}

static void prepare(actor *a)
{
    for (uint64_t i = 0; i < part / 10 + 1; i++) {
        visit(a, shared);
    }
}

static void work(actor *a)
{
    double begin = clock_seconds(CLOCK_THREAD_CPUTIME_ID);
    for (uint64_t i = 0; i < part; i++) {
        visit(a, shared);
    }
    seconds_of[a->index] = clock_seconds(CLOCK_THREAD_CPUTIME_ID) - begin;
}

static void cycle(actor *a, uint64_t times)
{
    for (uint64_t i = 0; i < times; i++) {
        tslab_epoch epoch = open_epoch(TSLAB_POLICY_DRAIN, 0);
        visit(a, epoch);
        close_epoch(epoch, 0);
    }
}

// Nanoseconds of one epoch.
static double cycle_ns(actor *a, uint64_t times)
{
    cycle(a, times / 10 + 1);
    double start = cpu_seconds();
    cycle(a, times);
    return (cpu_seconds() - start) / (double)times * 1e9;
}

static void *stand_inside(void *argument)
{
    const tslab_epoch *epoch = argument;
    enter_epoch(*epoch, TSLAB_OK);
    void *object = malloc(size);
    if (object == NULL) {
        fail("malloc returned NULL");
    }
    pthread_barrier_wait(&all_inside);
    free(object);
    leave_epoch(*epoch);
    return NULL;
}

static void crowd_epoch(unsigned crowd)
{
    pthread_t *threads = table_map(crowd * sizeof *threads);
    tslab_epoch epoch = open_epoch(TSLAB_POLICY_DRAIN, 0);
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK_BYTES);
    pthread_barrier_init(&all_inside, NULL, crowd);
    for (unsigned i = 0; i < crowd; i++) {
        if (pthread_create(&threads[i], &small, stand_inside, &epoch) != 0) {
            fail("cannot start so many threads");
        }
    }
    for (unsigned i = 0; i < crowd; i++) {
        pthread_join(threads[i], NULL);
    }
    pthread_attr_destroy(&small);
    close_epoch(epoch, 0);
}

int main(int count, char **words)
{
    uint64_t values[4];
    arguments_read(count, words, "OPERATIONS THREADS CROWD SIZE", values, 4);
    threads_check(values[1]);
    require(values[2] >= 1 && values[2] <= CROWD_MOST, "the crowd must be of 1 to 4000 threads");
    sizes_check(values[3], values[3]);
    require_epochs("shared-enter");
    thread_count = (unsigned)values[1];
    part = values[0] / thread_count + 1;
    size = (uint32_t)values[3];
    for (unsigned i = 0; i <= THREADS_MOST; i++) {
        actor_init(&actors[i], i);
    }
    base_measure();

    shared = open_epoch(TSLAB_POLICY_DRAIN, 0);
    double seconds = crew_run(actors, thread_count, (crew_parts){ prepare, work, NULL });
    close_epoch(shared, 0);
    live_bytes_most = (int64_t)thread_count * size;
    double taken = 0;
    for (unsigned i = 0; i < thread_count; i++) {
        taken += seconds_of[i];
    }

    actor *alone = &actors[THREADS_MOST];
    uint64_t cycles = values[0] / CYCLES_PART + 1;
    double before = cycle_ns(alone, cycles);
    crowd_epoch((unsigned)values[2]);
    double after = cycle_ns(alone, cycles);
    fact facts[] = { { "enter_ns", taken / (double)(part * thread_count) * 1e9 },
                     { "epoch_ns", before },
                     { "epoch_after_crowd_ns", after } };
    report(part * thread_count, seconds, actors, THREADS_MOST + 1, facts, 3);
    return 0;
}
