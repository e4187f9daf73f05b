/* Every call of libc by which the library asks the system for something fails in turn, with every errno that it may
 * fail with, once or from then on: each in a process of its own on the drop-in, from its very start. What is refused
 * is refused with ENOMEM and leaves all as it was; nothing ends the process; and as soon as the calls succeed again,
 * all is served, and as much is alive and mapped in the end as in a process that never saw a fault.
 *
 *   family INTERPOSER [long]     runs all plans; "long" tries every call, not some of many
 *   family --work                is the process of one plan: FAULTS (interpose.c) */
#include "check.h"

#include <dlfcn.h>
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

/* The work of a process. Nothing of libc that allocates is used. */

enum {
    OBJECTS = 280,
    SHARED = 40,
    EPOCHS = 6,
    EACH = 40,
    NEVER_CAME = 2,
    LARGE_BYTES = 48 << 20,
    PROOF_BYTES = 128 << 10,
    PATIENCE_SECONDS = 100
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

/* What an allocation returned is kept, or it was refused as it should be. */
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
    CHECK(errno == 4711 && (error == 0) == (p != NULL));
    errno = error;
    return p;
}

static void allocate(size_t i)
{
    static const size_t sizes[] = { 1, 24, 64, 200, 1000, 5000, 16000, 32000, 40000, 100000 };
    struct object *const object = &objects[i];
    const size_t size = i % 40 == 1 ? LARGE_BYTES + i : sizes[(i / 9) % COUNT_OF(sizes)] + i % 5;
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

/* What a thread does with its own objects, and with those that others left to it. */
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
    CHECK(pid >= 0);
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
        static const enum tslab_policy policies[] = { TSLAB_DRAIN, TSLAB_RELEASE, TSLAB_TRAP };
        const enum tslab_policy policy = policies[i % COUNT_OF(policies)];
        const struct tslab_epoch_options options = { .policy = policy, .instance = { i % 4 == 0 ? instance.id : 0 } };
        errno = 0;
        tslab_epoch epoch = tslab_epoch_open(&options);
        if (!epoch_granted(epoch.id)) {
            continue;
        }
        in_an_epoch(epoch, policy == TSLAB_DRAIN);
        struct tslab_epoch_report report;
        errno = 4711;
        const int status = i == 5 ? tslab_epoch_release(epoch, 0, &report)
                                  : tslab_epoch_close(epoch, i % 2 == 0 ? TSLAB_RECLAIM : 0, &report);
        CHECK_SAY(status == TSLAB_OK, "closing: %s", tslab_status_text(status));
        CHECK(errno == 4711);
        CHECK(policy == TSLAB_DRAIN ? report.survivors == 0 : report.survivors <= EACH);
        CHECK(report.rss_change_bytes < (int64_t)1 << 30 && report.rss_change_bytes > -((int64_t)1 << 30));
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

static size_t work(void)
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
    tslab_stats_get(&stats);
    const size_t purged = stats.purged_bytes;
    const size_t trimmed = tslab_trim();
    tslab_stats_get(&stats);
    CHECK_SAY(trimmed <= stats.purged_bytes - purged, "%zu bytes are said to be trimmed", trimmed);
    CHECK(mallinfo2().uordblks <= stats.live_bytes + stats.large_bytes);
    use_threads();
    use_a_fork();
    use_epochs();
    for (size_t i = 0; i < OBJECTS; i++) {
        release(i);
    }
    return refused;
}

static size_t mapped_kib(void)
{
    char text[4096];
    const int descriptor = open("/proc/self/status", O_RDONLY);
    const ssize_t length = read(descriptor, text, sizeof text - 1);
    close(descriptor);
    CHECK(length > 0);
    text[length] = 0;
    const char *const line = strstr(text, "VmSize:");
    CHECK(line != NULL);
    return strtoul(line + 7, NULL, 10);
}

static bool is_hint(const char *plan)
{
    static const char *const hints[] = { "madvise", "munmap",  "clock",      "open",
                                         "read",    "syscall", "__register", "mprotect:0:0:SL" };
    bool hint = false;
    for (size_t i = 0; i < COUNT_OF(hints); i++) {
        hint = hint || strncmp(plan, hints[i], strlen(hints[i])) == 0;
    }
    return hint;
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

static void contend_all(void)
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

static int process(void)
{
    void (*const plan)(const char *) = (void (*)(const char *))dlsym(RTLD_DEFAULT, "faults_plan");
    unsigned (*const calls)(const char *) = (unsigned (*)(const char *))dlsym(RTLD_DEFAULT, "faults_calls");
    CHECK_SAY(plan != NULL && calls != NULL, "the interposing library is not there");
    CHECK(errno == 0);
    const char *const asked = getenv("FAULTS");
    alarm(PATIENCE_SECONDS);
    const size_t refused_then = work();
    bool came = true;
    if (asked != NULL) {
        char name[32];
        CHECK(sscanf(asked, "%31[^:]", name) == 1);
        if (strstr(asked, "SLEEP") != NULL) {
            contend_all();
            memcpy(name, "syscall", 8);
        }
        came = calls(name) > strtoul(strchr(asked, ':') + 1, NULL, 10);
        CHECK_SAY(!is_hint(asked) || refused_then == 0, "%zu were refused", refused_then);
    }
    plan("");
    CHECK_SAY(work() == 0, "%zu are refused when all is well again", refused);
    contend_all(); /* libc keeps something for each thread that there was at once */
    (void)tslab_trim();
    struct tslab_stats stats;
    tslab_stats_get(&stats);
    CHECK_SAY(stats.dirty_bytes == 0 && stats.cached_bytes == 0, "%zu bytes are dirty, %zu cached", stats.dirty_bytes,
              stats.cached_bytes);
    char line[256];
    const int length = snprintf(
        line, sizeof line, "%zu objects of %zu bytes, %zu large, %u epochs, %u threads\n%zu KiB\n", stats.live_objects,
        stats.live_bytes, stats.large_bytes, stats.epochs_open, stats.threads, mapped_kib());
    CHECK(write(STDOUT_FILENO, line, (size_t)length) == length);
    return came ? 0 : NEVER_CAME;
}

/* The plans. */

static char interposer[4096];
static const char *arena;

struct result {
    int status;
    char said[4096];
};

static struct result run(const char *plan)
{
    struct result result = { .status = 0 };
    int ends[2];
    CHECK(pipe(ends) == 0);
    const pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        setenv("LD_PRELOAD", interposer, 1);
        setenv("TSLAB_ARENA_BYTES", arena, 1);
        setenv("TSLAB_EPOCH_POLICY", "per-request", 1);
        if (plan != NULL) {
            setenv("FAULTS", plan, 1);
        }
        execl("/proc/self/exe", "family", "--work", (char *)NULL);
        _exit(98);
    }
    close(ends[1]);
    size_t length = 0;
    ssize_t n;
    while ((n = read(ends[0], result.said + length, sizeof result.said - 1 - length)) > 0) {
        length += (size_t)n;
    }
    close(ends[0]);
    CHECK(waitpid(pid, &result.status, 0) == pid);
    return result;
}

/* As much is alive as without a fault; and at most a little more is mapped. */
static void compare(const char *plan, const struct result *found, const struct result *wanted)
{
    enum { SLACK_KIB = 40 * 1024 };
    const char *const mapped = strchr(found->said, '\n');
    const char *const mapped_wanted = strchr(wanted->said, '\n');
    const bool same = mapped != NULL && mapped - found->said == mapped_wanted - wanted->said &&
                      memcmp(found->said, wanted->said, (size_t)(mapped - found->said)) == 0;
    const bool ended =
        WIFEXITED(found->status) && (WEXITSTATUS(found->status) == 0 || WEXITSTATUS(found->status) == NEVER_CAME);
    CHECK_SAY(ended && same, "%s: status %#x, \"%s\", not \"%s\"", plan, (unsigned)found->status, found->said,
              wanted->said);
    const size_t kib = strtoul(mapped + 1, NULL, 10), kib_wanted = strtoul(mapped_wanted + 1, NULL, 10);
    CHECK_SAY(kib < kib_wanted + SLACK_KIB, "%s: %zu KiB are mapped, not %zu", plan, kib, kib_wanted);
}

/* What a call may fail with. The first of a call is tried more thoroughly than the others. */
struct failure {
    const char *call, *how;
    unsigned least; /* so many calls of it come at least */
    bool little;    /* of interest where the arena is small, too */
    bool first;
};

static const struct failure failures[] = {
    { "mmap", "ENOMEM", 2, true, true },
    { "mmap", "EAGAIN", 2, false, false },
    { "mmap", "EPERM", 2, true, false },
    { "mprotect", "ENOMEM", 4, true, true },
    { "mprotect", "EACCES", 4, false, false },
    { "madvise", "EINVAL", 4, true, true },
    { "madvise", "EAGAIN", 4, false, false },
    { "madvise", "ENOMEM", 4, false, false },
    { "munmap", "ENOMEM", 4, true, true },
    { "munmap", "EINVAL", 4, true, false },
    { "clock_gettime", "LIE", 4, false, true },
    { "clock_gettime", "EINVAL", 4, false, false },
    { "clock_gettime", "EPERM", 4, false, false },
    { "getrlimit", "EPERM", 1, false, true },
    { "open", "EMFILE", 4, false, true },
    { "read", "EIO", 4, false, true },
    { "read", "LIE", 4, false, false },
    { "pthread_key_create", "EAGAIN", 1, false, true },
    { "pthread_key_create", "ENOMEM", 1, false, false },
    { "pthread_setspecific", "ENOMEM", 3, false, true },
    { "__register_atfork", "ENOMEM", 1, false, true },
};

/* Lets the calls fail from the first on, from a later one on, and so on, until none comes any more. Returns how many
 * plans were tried. */
static unsigned fail_in_turn(const struct failure *failure, bool once, bool full, const struct result *wanted)
{
    static const unsigned some[] = { 0, 1, 5, 14 };
    const unsigned most = full ? UINT32_MAX : failure->first ? COUNT_OF(some) : 1;
    unsigned tried = 0;
    for (unsigned i = 0; i < most; i++, tried++) {
        char plan[256];
        snprintf(plan, sizeof plan, "%s:%u:%u:%s", failure->call, full ? i : some[i], once, failure->how);
        const struct result result = run(plan);
        compare(plan, &result, wanted);
        if (WEXITSTATUS(result.status) == NEVER_CAME) {
            CHECK_SAY(i >= failure->least || some[i] >= failure->least, "%s: only %u came", failure->call, i);
            break;
        }
    }
    return tried;
}

/* The locks: threads wait for one another while calls take long, and the futex does not do what it should. */
static void fail_the_futex(const struct result *wanted)
{
    static const char *const hows[] = { "EINTR", "EAGAIN", "EPERM", "ENOSYS", "LIE" };
    for (size_t i = 0; i < COUNT_OF(hows); i++) {
        char plan[256];
        snprintf(plan, sizeof plan, "mprotect:0:0:SLEEP,madvise:0:0:SLEEP,syscall:0:0:%s", hows[i]);
        const struct result result = run(plan);
        compare(plan, &result, wanted);
        CHECK_SAY(WEXITSTATUS(result.status) == 0, "%s: no thread waited", plan);
    }
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--work") == 0) {
        return process();
    }
    const bool full = argc == 3 && strcmp(argv[2], "long") == 0;
    if (argc < 2 || argc > 3 || realpath(argv[1], interposer) == NULL) {
        fputs("usage: family INTERPOSER [long]\n", stderr);
        return 2;
    }
    static const char *const arenas[] = { "64G", "40M" };
    unsigned tried = 0;
    for (size_t a = 0; a < COUNT_OF(arenas); a++) {
        const bool little = a == 1;
        arena = arenas[a];
        const struct result wanted = run(NULL);
        CHECK_SAY(wanted.status == 0, "without a fault: %s", wanted.said);
        for (size_t i = 0; i < COUNT_OF(failures); i++) {
            const bool blocks_only = strcmp(failures[i].call, "munmap") == 0;
            if (little ? !failures[i].little && !full : blocks_only) {
                continue;
            }
            for (int once = 0; once < (failures[i].first || full ? 2 : 1); once++) {
                tried += fail_in_turn(&failures[i], once != 0, full, &wanted);
            }
        }
        if (!little || full) {
            fail_the_futex(&wanted);
        }
    }
    printf("%u plans\n", tried);
    return 0;
}
