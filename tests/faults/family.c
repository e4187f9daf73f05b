#include "workers.h"
/* Every call of libc by which the library asks the system for something fails in turn, with every errno that it may
 * fail with, once or from then on: each in a process of its own on the drop-in, from its very start. A refusal is
 * ENOMEM and leaves all as it was. Nothing ends the process. As soon as the calls succeed again, all is served, and as
 * much is alive and resident in the end as in a process that never saw a fault.
 *
 *   family INTERPOSER [long]     runs all plans; "long" tries every call, not some of many
 *   family --work                is the process of one plan: FAULTS (interpose.c) */
#include "work.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <tslab/tslab.h>

enum { NEVER_CAME = 2 };

static bool is_hint(const char *plan)
{
    static const char *const hints[] = { "madvise",    "mremap",    "munmap",          "clock",
                                         "openat",     "read",      "close",           "futex",
                                         "__register", "getrandom", "pthread_sigmask", "close_range",
                                         "sched_",     "gettid",    "pread64",         "pthread_getcpuclockid" };
    bool hint = false;
    for (size_t i = 0; i < COUNT_OF(hints); i++) {
        hint = hint || strncmp(plan, hints[i], strlen(hints[i])) == 0;
    }
    return hint;
}

/* The channel of this process, as others find it. -1: there is none. */
static int open_channel(void)
{
    for (unsigned tries = 0; tries < 400; tries++) {
        glob_t found;
        char name[64];
        int fd = -1;
        if (glob("/proc/self/task/*/fd/*", 0, NULL, &found) != 0) {
            return -1;
        }
        for (size_t i = 0; i < found.gl_pathc && fd < 0; i++) {
            const ssize_t length = readlink(found.gl_pathv[i], name, sizeof name - 1);
            name[length < 0 ? 0 : length] = 0;
            fd = strncmp(name, "/memfd:tslab-export", 19) == 0 ? open(found.gl_pathv[i], O_RDWR | O_CLOEXEC) : -1;
        }
        globfree(&found);
        if (fd >= 0) {
            return fd;
        }
        usleep(2000);
    }
    return -1;
}

/* Asks this process for something as another one would (docs/export.md), but for the lock. */
static void ask_myself(void)
{
    enum { ASKED_AT = 24, ANSWERED_AT = 28, REQUEST_AT = 40, ANSWER_AT = 40 + 1024, TRIES = 4000 };
    static const char request[] = "0 trim", wanted[] = "refused: nobody holds a lock on the file";
    char answer[sizeof wanted] = "";
    const uint32_t number = 1;
    uint32_t answered = 0;
    const int fd = open_channel();
    if (fd < 0) {
        return;
    }
    CHECK(pwrite(fd, request, sizeof request, REQUEST_AT) == sizeof request);
    CHECK(pwrite(fd, &number, sizeof number, ASKED_AT) == sizeof number);
    for (unsigned i = 0; i < TRIES && answered != number; i++) {
        usleep(2000);
        CHECK(pread(fd, &answered, sizeof answered, ANSWERED_AT) == sizeof answered);
    }
    CHECK(answered == number && pread(fd, answer, sizeof answer, ANSWER_AT) == sizeof answer);
    CHECK_SAY(memcmp(answer, wanted, sizeof wanted) == 0, "answered \"%s\"", answer);
    CHECK(close(fd) == 0);
}

static int process(void)
{
    void (*const plan)(const char *) = (void (*)(const char *))dlsym(RTLD_DEFAULT, "faults_plan");
    unsigned (*const calls)(const char *) = (unsigned (*)(const char *))dlsym(RTLD_DEFAULT, "faults_calls");
    CHECK_SAY(plan != NULL && calls != NULL, "the interposing library is not there");
    CHECK(errno == 0);
    const char *const asked = getenv("FAULTS");
    alarm(HANG_SECONDS);
    const size_t refused_then = work();
    bool came = true;
    if (asked != NULL) {
        char name[32];
        CHECK(sscanf(asked, "%31[^:]", name) == 1);
        if (strstr(asked, "SLEEP") != NULL) {
            contend_all();
            memcpy(name, "futex", 6);
        }
        came = calls(name) > strtoul(strchr(asked, ':') + 1, NULL, 10);
        CHECK_SAY(strstr(asked, "register_atfork:0:1") == NULL || calls(name) == 2,
                  "fork handlers that could not be set were not set later");
        CHECK_SAY(!is_hint(asked) || refused_then == 0, "%zu were refused", refused_then);
    }
    ask_myself();
    plan("");
    CHECK_SAY(work() == 0, "something is refused when all is well again");
    contend_all(); /* libc keeps something for each thread that there was at once */
    (void)tslab_trim();
    struct tslab_stats stats;
    tslab_stats_get(&stats);
    CHECK_SAY(stats.dirty_bytes == 0 && stats.cached_bytes == 0, "%zu bytes are dirty, %zu cached", stats.dirty_bytes,
              stats.cached_bytes);
    char line[256];
    const int length = snprintf(
        line, sizeof line, "%zu objects of %zu bytes, %zu large, %zu epochs, %zu threads\n%zu KiB\n",
        stats.live_objects, stats.live_bytes, stats.large_bytes, stats.epochs_open, stats.threads, resident_kib());
    CHECK(write(STDOUT_FILENO, line, (size_t)length) == length);
    return came ? 0 : NEVER_CAME;
}

/* The plans. */

static char interposer[4096];

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
        setenv("TSLAB_EPOCH_POLICY", "per-request", 1);
        if (plan != NULL) {
            setenv("FAULTS", plan, 1);
        }
        execl("/proc/self/exe", "family", "--work", (char *)NULL);
        _exit(98);
    }
    close(ends[1]);
    result.status = child_heard(pid, ends[0], result.said, sizeof result.said);
    return result;
}

/* A process without a keeper. One whose keeper started late, with what libc keeps of a thread that has ended, has as
 * much alive as this one. */
static struct result without_keeper;

/* The first lines, which say what is alive, are the same. */
static bool is_alive_as(const struct result *a, const struct result *b)
{
    const size_t length = strcspn(a->said, "\n");
    return a->said[length] == '\n' && strcspn(b->said, "\n") == length && memcmp(a->said, b->said, length) == 0;
}

/* As much is alive as without a fault, and at most a little more is resident. */
static void compare(const char *plan, const struct result *found, const struct result *wanted)
{
    enum { SLACK_KIB = 16 * 1024 };
    const char *const resident = strchr(found->said, '\n');
    const char *const resident_wanted = strchr(wanted->said, '\n');
    const bool same = resident != NULL && (is_alive_as(found, wanted) || is_alive_as(found, &without_keeper));
    const bool ended =
        WIFEXITED(found->status) && (WEXITSTATUS(found->status) == 0 || WEXITSTATUS(found->status) == NEVER_CAME);
    CHECK_SAY(ended && same, "%s: status %#x, \"%s\", not \"%s\"", plan, (unsigned)found->status, found->said,
              wanted->said);
    const size_t kib = strtoul(resident + 1, NULL, 10), kib_wanted = strtoul(resident_wanted + 1, NULL, 10);
    CHECK_SAY(kib < kib_wanted + SLACK_KIB, "%s: %zu KiB are resident, not %zu", plan, kib, kib_wanted);
}

/* The errors of a call. The first of a call is tried more thoroughly than the others. */
struct failure {
    const char *call, *how;
    unsigned least; /* so many calls of it come at least */
    bool first;
};

static const struct failure failures[] = {
    { "mmap", "ENOMEM", 2, true },
    { "mmap", "EAGAIN", 2, false },
    { "mmap", "EPERM", 2, false },
    { "mprotect", "ENOMEM", 1, true },
    { "mprotect", "EACCES", 1, false },
    { "madvise", "EINVAL", 4, true },
    { "madvise", "EAGAIN", 4, false },
    { "madvise", "ENOMEM", 4, false },
    { "mremap", "EINVAL", 1, true },
    { "mremap", "EFAULT", 1, true },
    { "munmap", "ENOMEM", 1, true },
    { "munmap", "EINVAL", 1, false },
    { "clock_gettime", "LIE", 4, true },
    { "clock_gettime", "EINVAL", 4, false },
    { "clock_gettime", "EPERM", 4, false },
    { "getrandom", "EAGAIN", 1, true },
    { "mmap", "EEXIST", 2, false },
    { "openat", "EMFILE", 2, true },
    { "close", "EIO", 1, false },
    { "pread64", "EIO", 2, true },
    { "pread64", "LIE", 2, false },
    { "pthread_getcpuclockid", "ESRCH", 2, true },
    { "pthread_key_create", "EAGAIN", 1, true },
    { "pthread_key_create", "ENOMEM", 1, false },
    { "pthread_setspecific", "ENOMEM", 3, true },
    { "__register_atfork", "ENOMEM", 1, true },
    { "pthread_sigmask", "EINVAL", 2, true },
};

/* Lets the calls fail from the first on, from a later one on, and so on, until none comes any more. Returns how many
 * plans were tried. */
static unsigned fail_in_turn(const struct failure *failure, bool once, bool full, const struct result *wanted)
{
    static const unsigned some[] = { 0, 1, 5, 6, 14 };
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
        snprintf(plan, sizeof plan, "mmap:0:0:SLEEP,madvise:0:0:SLEEP,futex:0:0:%s", hows[i]);
        const struct result result = run(plan);
        compare(plan, &result, wanted);
        CHECK_SAY(WEXITSTATUS(result.status) == 0, "%s: no thread waited", plan);
    }
}

/* The keeper's own calls: other processors than those of the thread that makes it, no priority, a table of descriptors
 * of its own. */
static void fail_the_keeper(const struct result *wanted)
{
    static const char *const plans[] = {
        "close_range:0:0:ENOSYS",
        "sched_getaffinity:0:0:EINVAL",
        "sched_getaffinity:1:0:EINVAL",
        "sched_getscheduler:0:0:EINVAL",
        "sched_getaffinity:0:0:LIE,sched_setaffinity:0:0:EINVAL",
        "sched_getscheduler:0:0:LIE,sched_setscheduler:0:0:EPERM",
    };
    for (size_t i = 0; i < COUNT_OF(plans); i++) {
        const struct result result = run(plans[i]);
        compare(plans[i], &result, wanted);
        CHECK_SAY(WEXITSTATUS(result.status) == 0, "%s: no such call came", plans[i]);
    }
}

/* A kernel that has no huge pages. */
static void fail_the_advice(const char *option, const char *value)
{
    CHECK(setenv(option, value, 1) == 0);
    const struct result wanted = run(NULL), refused = run("madvise:0:0:EINVAL");
    CHECK_SAY(wanted.status == 0, "with %s=%s: %s", option, value, wanted.said);
    compare("madvise:0:0:EINVAL, by option", &refused, &wanted);
    CHECK(unsetenv(option) == 0);
}

/* A system that refuses the channel, or a part of what that takes. The process says so once, and does all else as ever.
 */
static void fail_the_export(void)
{
    static const struct {
        const char *plan;
        bool refused;
    } plans[] = { { "memfd_create:0:1:EINVAL", false }, { "memfd_create:0:0:ENOSYS", true },
                  { "memfd_create:0:0:EINVAL", true },  { "close_range:0:0:ENOSYS", true },
                  { "prlimit64:0:0:EINVAL", false },    { "fchmod:0:0:EPERM", true } };
    static const char said[] = "tslab: option TSLAB_EXPORT has no effect: the system gives the library no thread with "
                               "descriptors of its own (Linux 5.9), or no memfd\n";
    CHECK(setenv("TSLAB_EXPORT", "1", 1) == 0);
    const struct result wanted = run(NULL);
    CHECK_SAY(wanted.status == 0, "with an export: %s", wanted.said);
    for (size_t i = 0; i < COUNT_OF(plans); i++) {
        struct result result = run(plans[i].plan);
        const bool says = strncmp(result.said, said, sizeof said - 1) == 0;
        CHECK_SAY(says == plans[i].refused, "%s: \"%s\"", plans[i].plan, result.said);
        memmove(result.said, result.said + (says ? sizeof said - 1 : 0), sizeof result.said - sizeof said);
        compare(plans[i].plan, &result, &wanted);
    }
    CHECK(unsetenv("TSLAB_EXPORT") == 0);
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
    unsigned tried = 0;
    const struct result wanted = run(NULL);
    CHECK_SAY(wanted.status == 0, "without a fault: %s", wanted.said);
    CHECK(setenv("TSLAB_KEEPER", "0", 1) == 0);
    without_keeper = run(NULL);
    CHECK(unsetenv("TSLAB_KEEPER") == 0);
    CHECK_SAY(without_keeper.status == 0, "without a keeper: %s", without_keeper.said);
    for (size_t i = 0; i < COUNT_OF(failures); i++) {
        for (int once = 0; once < (failures[i].first || full ? 2 : 1); once++) {
            tried += fail_in_turn(&failures[i], once != 0, full, &wanted);
        }
    }
    fail_the_futex(&wanted);
    fail_the_keeper(&wanted);
    fail_the_advice("TSLAB_HUGE_PAGES", "always");
    fail_the_export();
    printf("%u plans\n", tried);
    return 0;
}
