#include "work.h"
#include "figures.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <tslab/tslab.h>

/* C23 names, and one that glibc no longer declares. */
void free_sized(void *p, size_t size);
void free_aligned_sized(void *p, size_t alignment, size_t size);
void cfree(void *p);

/* Nothing of libc that allocates is used. */

enum {
    OBJECTS = 280,
    SHARED = 40,
    EPOCHS = 6,
    EACH = 40,
    LARGE_BYTES = 48 << 20,
    PROOF_BYTES = 128 << 10,
    SLACK_BYTES = 3 << 20
};

static struct object {
    unsigned char *start;
    size_t size, alignment;
} objects[OBJECTS];
static size_t refused;

/* As much of an object as carries a proof: large ones are there for their addresses. */
static size_t proof(size_t size)
{
    return size < PROOF_BYTES ? size : PROOF_BYTES;
}

/* Keeps the object of an allocation, or checks its refusal. */
static bool granted(const void *p, int error)
{
    CHECK_SAY(p != NULL || error == ENOMEM, "refused with %s", strerror(error));
    refused += p == NULL;
    return p != NULL;
}

static void *by_posix_memalign(size_t alignment, size_t size)
{
    void *p = NULL;
    errno = 4711;
    const int error = posix_memalign(&p, alignment, size);
    CHECK(errno == (error == 0 ? 4711 : ENOMEM) && (error == 0) == (p != NULL));
    errno = error;
    return p;
}

static void allocate(size_t i)
{
    static const size_t sizes[] = { 1, 24, 64, 200, 1000, 5000, 16000, 32000, 40000, 100000 };
    struct object *const object = &objects[i];
    const size_t size = i % 40 == 2 ? LARGE_BYTES + i : sizes[(i / 9) % COUNT_OF(sizes)] + i % 5;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *p = NULL;
    size_t alignment = 16;
    bool zero = false;
    errno = 0;
    switch (i % 9) {
    case 0:
        p = malloc(size);
        break;
    case 1:
        p = calloc(size, 1);
        zero = true;
        break;
    case 2:
        p = realloc(NULL, size);
        break;
    case 3:
        p = reallocarray(NULL, 1, size);
        break;
    case 4:
        alignment = (size_t)32 << (i % 11);
        p = aligned_alloc(alignment, size);
        break;
    case 5:
        alignment = 64;
        p = memalign(alignment, size);
        break;
    case 6:
        alignment = (size_t)16 << (i % 14);
        p = by_posix_memalign(alignment, size);
        break;
    case 7:
        alignment = page;
        p = valloc(size);
        break;
    default:
        alignment = page;
        p = pvalloc(size);
        break;
    }
    object->start = NULL;
    if (granted(p, errno)) {
        CHECK((uintptr_t)p % alignment == 0 && malloc_usable_size(p) >= size);
        CHECK(!zero || all_zero(p, proof(size)));
        pattern_fill(p, proof(size), i);
        *object = (struct object){ p, size, alignment };
    }
}

static void release(size_t i)
{
    struct object *const object = &objects[i];
    if (object->start == NULL) {
        return;
    }
    CHECK(pattern_holds(object->start, proof(object->size), i));
    CHECK(malloc_usable_size(object->start) >= object->size);
    errno = 4711;
    if (i % 4 == 1) {
        free_sized(object->start, object->size);
    } else if (i % 4 == 2) {
        free_aligned_sized(object->start, object->alignment, object->size);
    } else if (i % 4 == 3) {
        cfree(object->start);
    } else {
        free(object->start);
    }
    CHECK(errno == 4711);
    object->start = NULL;
}

static void resize(size_t i)
{
    struct object *const object = &objects[i];
    if (object->start == NULL) {
        return;
    }
    const size_t size = i % 3 == 0 ? object->size / 2 + 1 : object->size * 3;
    errno = 0;
    unsigned char *const p = i % 2 == 0 ? realloc(object->start, size) : reallocarray(object->start, size, 1);
    const size_t kept = size < object->size && p != NULL ? size : object->size;
    CHECK(pattern_holds(p == NULL ? object->start : p, proof(kept), i));
    if (granted(p, errno)) {
        pattern_fill(p, proof(size), i);
        *object = (struct object){ p, size, 16 };
    }
}

/* The work of a thread on its own objects, and on those that others left to it. */
static void *in_a_thread(void *first)
{
    for (size_t i = (size_t)(uintptr_t)first; i < (size_t)(uintptr_t)first + SHARED; i++) {
        release(i);
        errno = 0;
        void *const p = malloc(i * 100);
        if (granted(p, errno)) {
            memset(p, 1, i * 100);
        }
        free(p);
    }
    return NULL;
}

/* A thread that cannot be had is not of interest: its stack is libc's. */
static void use_threads(void)
{
    for (size_t i = 0; i < OBJECTS; i += 3 * SHARED) {
        pthread_t thread;
        errno = 0;
        if (pthread_create(&thread, NULL, in_a_thread, (void *)(uintptr_t)i) == 0) {
            CHECK(pthread_join(thread, NULL) == 0);
        } else {
            refused++;
        }
    }
}

static void use_a_fork(void)
{
    const pid_t pid = fork();
    if (pid < 0) {
        refused++;
        return;
    }
    if (pid == 0) {
        for (size_t i = 0; i < OBJECTS; i++) {
            release(i);
        }
        for (size_t i = 0; i < 50; i++) {
            allocate(i);
            release(i);
        }
        _exit(0);
    }
    int status;
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK_SAY(status == 0, "the child of a fork ended with %#x", (unsigned)status);
}

static bool epoch_granted(uint64_t id)
{
    return granted(id == 0 ? NULL : objects, errno);
}

static void in_an_epoch(tslab_epoch epoch, bool drains)
{
    static void *plain[EACH], *named[EACH];
    static tslab_handle handles[EACH];
    const int entered = tslab_epoch_enter(epoch);
    CHECK(entered >= 0 || entered == TSLAB_NO_MEMORY);
    refused += entered < 0;
    uint64_t alive = 0;
    for (size_t i = 0; i < EACH; i++) {
        const size_t size = 1 + i * i * (i % 5 == 0 ? 40 : 2);
        errno = 0;
        named[i] = i % 2 == 0 ? tslab_epoch_calloc(epoch, 1, size) : tslab_epoch_aligned_alloc(epoch, 256, size);
        if (granted(named[i], errno)) {
            CHECK(i % 2 == 1 || all_zero(named[i], size));
            pattern_fill(named[i], size, i);
            alive++;
        }
        errno = 0;
        plain[i] = malloc(size);
        if (granted(plain[i], errno)) {
            pattern_fill(plain[i], size, i);
            alive += tslab_epoch_of(plain[i]).id == epoch.id;
        }
        errno = 0;
        void *p = NULL;
        handles[i] = tslab_handle_malloc(epoch, 100 + i, &p);
        if (epoch_granted(handles[i].id)) {
            pattern_fill(p, 100 + i, i);
            alive++;
        }
    }
    struct tslab_epoch_stats stats;
    CHECK(tslab_epoch_stats_get(epoch, &stats) == TSLAB_OK);
    CHECK_SAY(stats.live_objects == alive, "%zu live in an epoch, not %zu", (size_t)stats.live_objects, (size_t)alive);
    CHECK(stats.age_ms < (uint64_t)1000 * 3600 * 24 * 365 * 200);
    for (size_t i = 0; i < EACH; i++) {
        const size_t size = 1 + i * i * (i % 5 == 0 ? 40 : 2);
        CHECK(plain[i] == NULL || pattern_holds(plain[i], size, i));
        CHECK(named[i] == NULL || pattern_holds(named[i], size, i));
        const void *const p = tslab_handle_get(epoch, handles[i]);
        CHECK((p != NULL) == (handles[i].id != 0) && (p == NULL || pattern_holds(p, 100 + i, i)));
        free(plain[i]);
        if (drains || i % 2 == 0) {
            free(named[i]);
            CHECK(handles[i].id == 0 || tslab_handle_free(epoch, handles[i]) == TSLAB_OK);
        }
    }
    CHECK(entered < 0 || tslab_epoch_leave(epoch) == TSLAB_OK);
}

static void use_epochs(void)
{
    errno = 0;
    const tslab_instance instance = tslab_instance_open("faults");
    (void)epoch_granted(instance.id);
    for (unsigned i = 0; i < EPOCHS; i++) {
        static const enum tslab_policy policies[] = { TSLAB_POLICY_DRAIN, TSLAB_POLICY_RELEASE, TSLAB_POLICY_TRAP };
        const enum tslab_policy policy = policies[i % COUNT_OF(policies)];
        const struct tslab_epoch_options options = { .policy = policy, .instance = { i % 4 == 0 ? instance.id : 0 } };
        errno = 0;
        tslab_epoch epoch = tslab_epoch_open(&options);
        if (!epoch_granted(epoch.id)) {
            continue;
        }
        in_an_epoch(epoch, policy == TSLAB_POLICY_DRAIN);
        struct tslab_epoch_report report;
        errno = 4711;
        const int status = i == 5 ? tslab_epoch_release(epoch, 0, &report)
                                  : tslab_epoch_close(epoch, i % 2 == 0 ? TSLAB_CLOSE_RECLAIM : 0, &report);
        CHECK_SAY(status == TSLAB_OK, "closing: %s", tslab_status_text(status));
        CHECK(errno == 4711);
        CHECK(policy == TSLAB_POLICY_DRAIN ? report.survivors == 0 : report.survivors <= EACH);
        /* Where the system did not tell what is resident, nothing is said of it. Side tables lose pages, too. */
        const int64_t slack = SLACK_BYTES + (int64_t)report.reclaimed_bytes / 8;
        const int64_t gone = -report.rss_change_bytes;
        CHECK_SAY(gone <= (int64_t)report.reclaimed_bytes + slack && gone >= -SLACK_BYTES,
                  "%zu bytes were reclaimed, and %lld are said to be gone", (size_t)report.reclaimed_bytes,
                  (long long)gone);
        CHECK(tslab_epoch_enter(epoch) == TSLAB_STALE);
    }
    CHECK(instance.id == 0 || tslab_instance_close(instance, 0, NULL) == TSLAB_OK);
    for (unsigned i = 0; i < 3; i++) {
        const int begun = tslab_work_begin("unit");
        CHECK(begun == TSLAB_OK || begun == TSLAB_NO_MEMORY);
        refused += begun != TSLAB_OK;
        errno = 0;
        void *const p = malloc(1000);
        (void)granted(p, errno);
        free(p);
        const int ended = tslab_work_end();
        CHECK(ended == TSLAB_OK || begun != TSLAB_OK);
    }
    tslab_epoch_list(NULL, 0);
}

size_t work(void)
{
    refused = 0;
    for (size_t i = 0; i < OBJECTS; i++) {
        allocate(i);
        if (i % 5 == 0) {
            resize(i / 2);
        }
        if (i % 7 == 0) {
            release(i / 3);
        }
        if (i % 140 == 139) {
            (void)malloc_trim(0);
        }
    }
    struct tslab_stats stats;
    const size_t purged = figure("purged_bytes");
    const size_t trimmed = tslab_trim();
    tslab_stats_get(&stats);
    CHECK_SAY(trimmed <= figure("purged_bytes") - purged, "%zu bytes are said to be trimmed", trimmed);
    CHECK(mallinfo2().uordblks <= stats.live_bytes + stats.large_bytes);
    use_threads();
    use_a_fork();
    use_epochs();
    for (size_t i = 0; i < OBJECTS; i++) {
        release(i);
    }
    return refused;
}

/* Threads that wait for one another, where calls take long. */

static pthread_barrier_t contenders;

static void *contend(void *seed)
{
    uint64_t random = (uintptr_t)seed;
    pthread_barrier_wait(&contenders);
    for (int i = 0; i < 60; i++) {
        const size_t size = 40000 + random_next(&random) % 400000;
        char *const p = malloc(size);
        CHECK(p != NULL);
        p[0] = p[size - 1] = 1;
        free(p);
        if (i % 4 == 0) {
            (void)malloc_trim(0);
        }
    }
    return NULL;
}

void contend_all(void)
{
    pthread_t threads[4];
    CHECK(pthread_barrier_init(&contenders, NULL, COUNT_OF(threads)) == 0);
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        CHECK(pthread_create(&threads[i], NULL, contend, (void *)(uintptr_t)(i + 1)) == 0);
    }
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
}
