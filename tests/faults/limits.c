/* Limits of the system that a process comes up against, and out of again: what does not fit is refused with ENOMEM,
 * nothing is lost, and when the limit is lifted, all is served again.
 *
 *   limits CASE        exit code 0; 77 with a sentence where the machine cannot show it
 *   limits --list */
#include "figures.h"
#include "work.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <tslab/tslab.h>

enum { KIB = 1024, MIB = 1024 * 1024 };

static __attribute__((noreturn)) void skip(const char *sentence)
{
    fprintf(stderr, "SKIP: %s\n", sentence);
    _exit(CHECK_SKIPPED);
}

/* Sets a soft limit, and returns what it was. */
static rlim_t limit_set(__rlimit_resource_t resource, rlim_t soft)
{
    struct rlimit limit;
    CHECK(getrlimit(resource, &limit) == 0);
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = soft < limit.rlim_max ? soft : limit.rlim_max;
    CHECK(setrlimit(resource, &limit) == 0);
    return before;
}

static struct total_figures settled(void)
{
    struct total_figures stats;
    CHECK_SAY(work() == 0, "something is refused without a limit");
    contend_all();
    (void)tslab_trim();
    totals_get(&stats);
    return stats;
}

/* All is served again, and as much is alive as before. */
static void check_nothing_is_lost(const struct total_figures *before)
{
    const struct total_figures now = settled();
    CHECK_SAY(now.live_objects == before->live_objects && now.live_bytes == before->live_bytes,
              "%zu objects live, not %zu", now.live_objects, before->live_objects);
    CHECK_SAY(now.large_bytes == before->large_bytes, "%zu bytes of large objects", now.large_bytes);
    CHECK(now.dirty_bytes == 0 && now.cached_bytes == 0);
    CHECK(now.epochs_open == before->epochs_open && now.threads == before->threads);
}

/* Works under ever lower limits, from some megabytes above what is used now to less than that. */
static void shrink(__rlimit_resource_t resource, const char *field)
{
    static const size_t room_kib[] = { 64 * KIB, 16 * KIB, 4 * KIB, KIB, 256, 0 };
    const struct total_figures before = settled();
    size_t refused = 0;
    for (size_t i = 0; i < COUNT_OF(room_kib); i++) {
        const rlim_t lifted = limit_set(resource, (kib_of("/proc/self/status", field) + room_kib[i]) * KIB);
        refused += work();
        (void)limit_set(resource, lifted);
        check_nothing_is_lost(&before);
    }
    /* Less than there is already. */
    const rlim_t lifted = limit_set(resource, MIB);
    refused += work();
    (void)limit_set(resource, lifted);
    CHECK_SAY(refused > 0, "nothing was refused, so this proves nothing");
    check_nothing_is_lost(&before);
}

static void address_space(void)
{
    shrink(RLIMIT_AS, "\nVmSize:");
}

static void data(void)
{
    shrink(RLIMIT_DATA, "\nVmData:");
}

/* A process that is under a limit from its start, where nothing is committed yet. */
static void fresh(__rlimit_resource_t resource, const char *field)
{
    for (size_t kib = 0; kib <= 16 * KIB; kib = kib * 2 + 32) {
        const pid_t pid = fork(); /* before the first allocation of this process */
        CHECK(pid >= 0);
        if (pid == 0) {
            const rlim_t lifted = limit_set(resource, (kib_of("/proc/self/status", field) + kib) * KIB);
            (void)work();
            (void)limit_set(resource, lifted);
            const struct total_figures after = settled();
            check_nothing_is_lost(&after);
            _exit(0);
        }
        int status;
        CHECK(waitpid(pid, &status, 0) == pid);
        CHECK_SAY(status == 0, "with %zu KiB it ended with %#x", kib, (unsigned)status);
    }
}

static void fresh_address_space(void)
{
    fresh(RLIMIT_AS, "\nVmSize:");
}

static void fresh_data(void)
{
    fresh(RLIMIT_DATA, "\nVmData:");
}

/* An epoch is asked to tell how the resident memory changes, and the system does not tell. */
static void descriptors(void)
{
    const struct total_figures before = settled();
    const rlim_t lifted = limit_set(RLIMIT_NOFILE, 0);
    CHECK(open("/dev/null", O_RDONLY) < 0 && errno == EMFILE);
    CHECK_SAY(work() == 0, "descriptors are no memory");
    const tslab_epoch epoch = tslab_epoch_open(NULL);
    CHECK(epoch.id != 0);
    struct tslab_epoch_report report;
    CHECK(tslab_epoch_close(epoch, TSLAB_CLOSE_RECLAIM, &report) == TSLAB_OK);
    CHECK_SAY(report.rss_change_bytes == 0, "the resident memory changed by %lld bytes, and nobody can know",
              (long long)report.rss_change_bytes);
    (void)limit_set(RLIMIT_NOFILE, lifted);
    check_nothing_is_lost(&before);
}

/* No thread and no child can be had. */
static void processes(void)
{
    const struct total_figures before = settled();
    if (geteuid() == 0) { /* whom that limit does not concern */
        CHECK(setgid(65534) == 0 && setuid(65534) == 0);
    }
    const rlim_t lifted = limit_set(RLIMIT_NPROC, 0);
    CHECK_SAY(work() > 0, "threads were to be had, so this proves nothing");
    (void)limit_set(RLIMIT_NPROC, lifted);
    check_nothing_is_lost(&before);
}

/* The limit holds for the next program: this one, again. */
static void stack(void)
{
    if (getenv("TSLAB_STATS") == NULL) {
        (void)limit_set(RLIMIT_STACK, 128 * KIB);
        CHECK(setenv("TSLAB_STATS", "2", 1) == 0);
        CHECK(freopen("/dev/null", "w", stderr) != NULL);
        execl("/proc/self/exe", "limits", "stack", (char *)NULL);
        _exit(98);
    }
    const struct total_figures before = settled();
    check_nothing_is_lost(&before);
    tslab_stats_print(STDERR_FILENO);
}

static void *answer(void *number)
{
    void *const p = malloc(1000);
    free(p);
    return p == NULL ? NULL : number;
}

/* Objects of a size until there are no more. Returns their bytes. They are linked, so that they can be freed. */
static size_t fill(size_t size)
{
    void **first = NULL;
    size_t bytes = 0;
    for (void **p; errno = 0, (p = malloc(size)) != NULL; first = p, bytes += size) {
        *p = first;
    }
    CHECK(errno == ENOMEM);
    while (first != NULL) {
        void **const next = *first;
        free(first);
        first = next;
    }
    return bytes;
}

/* A limit on the address space that comes at run time is the program's to use, not the library's: others find room for
 * what they map, and objects for four fifths of it at least. */
static void room(void)
{
    enum { ROOM = 200 * MIB };
    static const size_t sizes[] = { 64, 1000, 30000, 300000, 5000000 };
    for (size_t i = 0; i < 1000; i++) {
        free(malloc(i * 100));
    }
    const rlim_t lifted = limit_set(RLIMIT_AS, mapped_kib() * KIB + ROOM);
    for (size_t i = 0; i < 3; i++) {
        pthread_t thread;
        void *answered, *const answer_number = &answered;
        CHECK_SAY(pthread_create(&thread, NULL, answer, answer_number) == 0, "no thread can be had");
        CHECK(pthread_join(thread, &answered) == 0 && answered == answer_number);
        void *const map = mmap(NULL, 64 * MIB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK_SAY(map != MAP_FAILED, "nobody else can map anything");
        CHECK(munmap(map, 64 * MIB) == 0);
    }
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        const size_t bytes = fill(sizes[i]);
        CHECK_SAY(bytes >= ROOM / 5 * 4, "%zu MiB in objects of %zu bytes fit into %d", bytes / MIB, sizes[i],
                  ROOM / MIB);
        (void)tslab_trim();
    }
    (void)limit_set(RLIMIT_AS, lifted);
}

/* Under a limit on addresses, a longer block takes the place of a shorter one that was given back. */
static void grown_again(void)
{
    static const size_t mib[] = { 1000, 1200, 1300, 1400, 700, 1400 };
    free(malloc(1000));
    (void)limit_set(RLIMIT_AS, (mapped_kib() + 1536 * KIB) * KIB);
    for (size_t i = 0; i < COUNT_OF(mib); i++) {
        void *const p = malloc(mib[i] * MIB);
        CHECK_SAY(p != NULL, "%zu MiB are refused after others came and went", mib[i]);
        free(p);
        if (i % 2 == 0) {
            (void)tslab_trim();
        }
    }
}

/* More than the machine has, which the kernel promises nobody, unless it was told to promise everything. */
static void absurd(void)
{
    char mode = '?';
    const int fd = open("/proc/sys/vm/overcommit_memory", O_RDONLY);
    if (fd < 0 || read(fd, &mode, 1) != 1 || mode == '1') {
        skip("this kernel promises everything (vm.overcommit_memory)");
    }
    close(fd);
    errno = 0;
    CHECK(malloc((size_t)8 << 40) == NULL && errno == ENOMEM);
    void *const p = malloc(MIB);
    CHECK(p != NULL);
    errno = 0;
    CHECK(realloc(p, (size_t)15 << 40) == NULL && errno == ENOMEM);
    free(p);
    CHECK(work() == 0);
}

/* An ordinary user who may lock so much can lock what there is. */
static void lock_current(void)
{
    const struct rlimit limit = { 64 * MIB, 64 * MIB };
    free(malloc(1000));
    if (setrlimit(RLIMIT_MEMLOCK, &limit) != 0) {
        skip("this user may not lock so much (RLIMIT_MEMLOCK)");
    }
    if (geteuid() == 0) {
        CHECK(setgid(65534) == 0 && setuid(65534) == 0);
    }
    if (mlockall(MCL_CURRENT) != 0) {
        CHECK_SAY(errno != ENOMEM, "%zu KiB cannot be locked", mapped_kib());
        skip("memory cannot be locked here");
    }
    CHECK(munlockall() == 0);
}

/* Locked pages do not go back. The bytes that the library reports did go back. */
static void locked(void)
{
    const struct total_figures before = settled();
    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
        skip("memory cannot be locked here (mlockall: RLIMIT_MEMLOCK)");
    }
    enum { BYTES = 8 * MIB };
    char *const p = malloc(BYTES);
    CHECK(p != NULL);
    memset(p, 1, BYTES);
    free(p);
    struct total_figures stats;
    totals_get(&stats);
    const size_t purged = stats.purged_bytes;
    const long long resident = (long long)resident_kib();
    const size_t trimmed = tslab_trim();
    const long long shrunk = resident - (long long)resident_kib();
    totals_get(&stats);
    CHECK_SAY(trimmed == stats.purged_bytes - purged && shrunk >= (long long)(trimmed / KIB / 2),
              "%zu bytes are said to be trimmed, %zu purged, and the process shrank by %lld KiB", trimmed,
              stats.purged_bytes - purged, shrunk);
    CHECK_SAY(work() == 0, "locked memory is memory");
    CHECK(munlockall() == 0);
    check_nothing_is_lost(&before);
}

/* The same, and no more than so much may be locked: the kernel then says EAGAIN, the library ENOMEM. */
static void locked_too_much(void)
{
    const struct total_figures before = settled();
    if (geteuid() == 0) {
        CHECK(setgid(65534) == 0 && setuid(65534) == 0);
    }
    const rlim_t lifted = limit_set(RLIMIT_MEMLOCK, MIB);
    if (mlockall(MCL_FUTURE) != 0) {
        skip("memory cannot be locked here (mlockall: RLIMIT_MEMLOCK)");
    }
    const size_t refused = work();
    CHECK_SAY(refused > 0, "nothing was refused, so this proves nothing");
    CHECK(munlockall() == 0);
    (void)limit_set(RLIMIT_MEMLOCK, lifted);
    check_nothing_is_lost(&before);
}

/* No mapping is left (vm.max_map_count), or a few: what needs to split one is refused, and may be so halfway. */
static void mappings(void)
{
    enum { MOST = 1 << 18 };
    static void *maps[MOST];
    static const size_t spare[] = { 0, 1, 2, 3, 5, 9, 20 };
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const struct total_figures before = settled();
    for (size_t round = 0; round < COUNT_OF(spare); round++) {
        size_t count = 0;
        /* Neighbours of different access do not merge. */
        while (count < MOST && (maps[count] = mmap(NULL, page, count % 2 == 0 ? PROT_READ : PROT_NONE,
                                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) != MAP_FAILED) {
            count++;
        }
        if (count == MOST) {
            skip("there are more mappings than a test can take (vm.max_map_count)");
        }
        CHECK(count > spare[round]);
        for (size_t i = 0; i < spare[round]; i++) {
            CHECK(munmap(maps[--count], page) == 0);
        }
        (void)work();
        /* To give pages back takes no mapping. */
        enum { BYTES = 4 * MIB };
        char *const p = malloc(BYTES);
        if (p != NULL) {
            memset(p, 1, BYTES);
        }
        free(p);
        CHECK_SAY(p == NULL || tslab_trim() >= BYTES / 2, "nothing was purged");
        while (count > 0) {
            CHECK(munmap(maps[--count], page) == 0);
        }
        check_nothing_is_lost(&before);
    }
}

static const struct {
    const char *name;
    void (*body)(void);
} cases[] = {
    { "address-space", address_space },
    { "data", data },
    { "fresh-address-space", fresh_address_space },
    { "fresh-data", fresh_data },
    { "descriptors", descriptors },
    { "processes", processes },
    { "stack", stack },
    { "room", room },
    { "grown-again", grown_again },
    { "absurd", absurd },
    { "lock-current", lock_current },
    { "locked", locked },
    { "locked-too-much", locked_too_much },
    { "mappings", mappings },
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 2 && i < COUNT_OF(cases); i++) {
        if (strcmp(argv[1], cases[i].name) == 0) {
            alarm(HANG_SECONDS);
            cases[i].body();
            return 0;
        }
    }
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        puts(cases[i].name);
    }
    return argc == 2 && strcmp(argv[1], "--list") == 0 ? 0 : 2;
}
