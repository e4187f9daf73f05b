/* A program may notice next to nothing of the library's thread, the keeper. Each case is a process of its own. The
 * program knows nothing of tslab, and passes on the system's malloc, where there is never a keeper.
 *
 *   company [CASE]
 *
 * With COMPANY_WRAPS it has a pthread_create of its own, which allocates under a lock as profilers do, tells all
 * libraries that it may have threads, as a libc does that does not know, lies at fixed addresses, and takes that of
 * malloc. */
#include "workers.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <threads.h>

enum { PATIENCE_MS = 60000, PAUSE_MS = 5, MIB = 1 << 20 };
enum { NOBODY = 65432 }; /* a user without processes */

#if COMPANY_WRAPS
char __libc_single_threaded;
void *(*volatile company_malloc)(size_t) = malloc;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void take(void)
{
    CHECK(pthread_mutex_lock(&lock) == 0);
}

static void give(void)
{
    CHECK(pthread_mutex_unlock(&lock) == 0);
}

__attribute__((constructor)) static void watch_forks(void)
{
    CHECK(pthread_atfork(take, give, give) == 0);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*routine)(void *), void *argument)
{
    static void *notes[64];
    static size_t count;
    take();
    int (*const next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
        (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(RTLD_NEXT, "pthread_create");
    void **const note = &notes[count++ % COUNT_OF(notes)];
    free(*note);
    *note = keep(malloc(20000));
    const int error = next(thread, attributes, routine, argument);
    give();
    return error;
}
#endif

static void pause_ms(long ms)
{
    const struct timespec pause = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
    (void)nanosleep(&pause, NULL);
}

#define WAIT_UNTIL(condition)                                                                                          \
    for (long waited = 0; !(condition); waited += PAUSE_MS) {                                                          \
        CHECK_SAY(waited < PATIENCE_MS, "it does not come to that: %s", #condition);                                   \
        pause_ms(PAUSE_MS);                                                                                            \
    }

/* Allocates and frees some MiB, so that there is something to give back. */
static void burst(void)
{
    enum { BLOCKS = 200, BYTES = 60000 };
    void *blocks[BLOCKS];
    for (size_t i = 0; i < BLOCKS; i++) {
        blocks[i] = keep(malloc(BYTES));
        CHECK(blocks[i] != NULL);
        memset(blocks[i], 1, BYTES);
    }
    for (size_t i = 0; i < BLOCKS; i++) {
        free(blocks[i]);
    }
}

/* The tasks of this process. */

struct task {
    pid_t number;
    char name[32];
};

static size_t tasks_of(struct task *tasks, size_t most)
{
    size_t count = 0;
    DIR *const all = opendir("/proc/self/task");
    CHECK(all != NULL);
    for (const struct dirent *entry; (entry = readdir(all)) != NULL;) {
        char path[64];
        if (entry->d_name[0] == '.') {
            continue;
        }
        CHECK(count < most);
        struct task *const task = &tasks[count];
        snprintf(path, sizeof path, "/proc/self/task/%.20s/comm", entry->d_name);
        FILE *const file = fopen(path, "r");
        if (file != NULL && fgets(task->name, sizeof task->name, file) != NULL) { /* else it has just ended */
            task->number = atoi(entry->d_name);
            task->name[strcspn(task->name, "\n")] = 0;
            count++;
        }
        if (file != NULL) {
            fclose(file);
        }
    }
    closedir(all);
    return count;
}

enum { TASKS_MOST = 512 };

static size_t task_count(void)
{
    struct task tasks[TASKS_MOST];
    return tasks_of(tasks, TASKS_MOST);
}

/* 0: there is no keeper. */
static pid_t keeper(void)
{
    struct task tasks[TASKS_MOST];
    const size_t count = tasks_of(tasks, TASKS_MOST);
    pid_t found = 0;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(tasks[i].name, "tslab-keeper") == 0) {
            CHECK(found == 0);
            found = tasks[i].number;
        }
    }
    return found;
}

/* How many keepers there should be beside several threads. */
static int kept(void)
{
    const char *const option = getenv("TSLAB_KEEPER");
    return dlsym(RTLD_DEFAULT, "tslab_version") != NULL && (option == NULL || strcmp(option, "0") != 0);
}

/* A line of a task's status, or of the process's. */
static void status_line(pid_t task, const char *name, char line[128])
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/status", task);
    FILE *const file = fopen(path, "r");
    CHECK_SAY(file != NULL, "%s", path);
    do {
        CHECK(fgets(line, 128, file) != NULL);
    } while (strncmp(line, name, strlen(name)) != 0);
    fclose(file);
}

/* Threads. */

static atomic_int go_on, running;

static void *run_until_told(void *argument)
{
    running++;
    while (go_on == 0) {
        pause_ms(PAUSE_MS);
    }
    running--;
    return argument;
}

static void *return_at_once(void *argument)
{
    return argument;
}

static void *allocate(void *argument)
{
    burst();
    return argument;
}

/* A thread that runs, and with it the keeper. */
static pthread_t begin_company(void)
{
    go_on = running = 0; /* those of a parent are not here */
    const pthread_t thread = thread_begin(run_until_told, NULL);
    burst();
    WAIT_UNTIL((keeper() != 0) == kept());
    WAIT_UNTIL(running == 1);
    return thread;
}

static void end_company(pthread_t thread)
{
    go_on = 1;
    (void)thread_end(thread);
    CHECK(keeper() == 0);
}

/* The kernel may show a thread that was joined for a little longer. */
static void check_alone(void)
{
    CHECK(keeper() == 0);
    WAIT_UNTIL(task_count() == 1);
}

/* Cases: how threads end. */

static void *exit_thread(void *argument)
{
    pthread_exit(argument);
}

static void *wait_for_cancel(void *argument)
{
    for (;;) {
        pause_ms(1000);
    }
    return argument;
}

static void *cancel_at_any_time(void *argument)
{
    CHECK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL) == 0);
    for (;;) {
        __asm__ volatile("" : : : "memory");
    }
    return argument;
}

static int return_from_thrd(void *argument)
{
    return *(int *)argument;
}

static int exit_thrd(void *argument)
{
    thrd_exit(*(int *)argument);
}

static void all_threads_end(void)
{
    void *(*const routines[])(void *) = { return_at_once, allocate, exit_thread };
    int value = 7;
    for (size_t i = 0; i < COUNT_OF(routines); i++) {
        void *result;
        CHECK(pthread_join(thread_begin(routines[i], &value), &result) == 0 && result == &value);
        check_alone();
    }
    void *(*const cancelled[])(void *) = { wait_for_cancel, cancel_at_any_time };
    for (size_t i = 0; i < COUNT_OF(cancelled); i++) {
        void *result;
        const pthread_t thread = thread_begin(cancelled[i], NULL);
        WAIT_UNTIL((keeper() != 0) == kept());
        CHECK(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
        check_alone();
    }
    thrd_start_t const thrds[] = { return_from_thrd, exit_thrd };
    for (size_t i = 0; i < COUNT_OF(thrds); i++) {
        thrd_t thread;
        int result;
        CHECK(thrd_create(&thread, thrds[i], &value) == thrd_success);
        CHECK(thrd_join(thread, &result) == thrd_success && result == value);
        check_alone();
    }
    go_on = 0;
    const pthread_t detached = thread_begin(run_until_told, NULL);
    CHECK(pthread_detach(detached) == 0);
    WAIT_UNTIL((keeper() != 0) == kept());
    go_on = 1;
    WAIT_UNTIL(task_count() == 1);
}

/* A destructor of a thread that makes another one. */
static pthread_key_t late;
static pthread_t made_late;

static void make_late(void *value)
{
    made_late = thread_begin(allocate, NULL);
}

static void *end_with_a_destructor(void *argument)
{
    CHECK(pthread_setspecific(late, &late) == 0);
    return argument;
}

static void destructors_make_threads(void)
{
    CHECK(pthread_key_create(&late, make_late) == 0);
    (void)in_a_thread(end_with_a_destructor, NULL);
    (void)thread_end(made_late);
    check_alone();
}

/* More threads on their way than there are places for their errands. */
static void many_at_once(void)
{
    enum { THREADS = 300 };
    pthread_t threads[THREADS];
    pthread_attr_t small;
    CHECK(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, 128 << 10) == 0);
    go_on = 0;
    for (size_t i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], &small, run_until_told, NULL) == 0);
    }
    WAIT_UNTIL(running == THREADS);
    CHECK((keeper() != 0) == kept());
    go_on = 1;
    for (size_t i = 0; i < THREADS; i++) {
        (void)thread_end(threads[i]);
    }
    check_alone();
}

/* Cases: how the process ends. */

static void *be_last(void *argument)
{
    WAIT_UNTIL((keeper() != 0) == (getenv("TSLAB_KEEPER") != NULL && kept())); /* main has ended */
    burst();
    return argument;
}

static void main_exits(void)
{
    CHECK(pthread_detach(thread_begin(be_last, NULL)) == 0);
    pthread_exit(NULL);
}

static void main_exits_last(void)
{
    end_company(begin_company());
    pthread_exit(NULL);
}

static void *be_terminated(void *argument)
{
    pause_ms(50); /* main has ended, most likely */
    CHECK(kill(getpid(), SIGTERM) == 0);
    WAIT_UNTIL(false);
    return argument;
}

static void a_signal_ends_it(void)
{
    (void)thread_begin(be_terminated, NULL);
    pthread_exit(NULL);
}

static void *end_with_status(void *argument)
{
    exit(argument == NULL ? 1 : 0);
}

static void a_thread_exits(void)
{
    (void)thread_end(thread_begin(end_with_status, (void *)1));
}

/* CPython's test_3_join_in_forked_from_thread: the only thread of the child returns. */
static void *fork_and_join(void *argument)
{
    const pid_t child = fork();
    if (child == 0) {
        CHECK(keeper() == 0);
        (void)in_a_thread(allocate, NULL);
        check_alone();
        const pthread_t thread = begin_company();
        end_company(thread);
        return argument; /* and so the child ends */
    }
    child_ends_well(child);
    return argument;
}

static void forks_in_a_thread(void)
{
    (void)in_a_thread(fork_and_join, NULL);
    check_alone();
}

static void forks_beside_threads(void)
{
    const pthread_t thread = begin_company();
    const pid_t child = fork();
    if (child == 0) {
        check_alone();
        burst();
        check_alone();
        end_company(begin_company());
        check_alone();
        _exit(0);
    }
    child_ends_well(child);
    CHECK((keeper() != 0) == kept());
    end_company(thread);
}

static void *make_and_join(void *argument)
{
    for (int i = 0; i < 1000; i++) {
        (void)thread_end(thread_begin(i % 2 == 0 ? return_at_once : allocate, NULL));
    }
    return argument;
}

/* Whether there is a keeper beside a thread that begins now, as there should be. */
static bool is_kept_now(void)
{
    go_on = 0;
    const pthread_t thread = thread_begin(run_until_told, NULL);
    const bool is_kept = task_count() == 2u + kept();
    go_on = 1;
    (void)thread_end(thread);
    return is_kept;
}

/* All ends and beginnings of the keeper beside forks. */
static void loop_beside_forks(void)
{
    for (int i = 0; i < 1000; i++) { /* one thread: the keeper comes and goes with the first of them */
        (void)in_a_thread(return_at_once, NULL);
        if (i % 50 == 0) {
            CHECK(keeper() == 0);
        }
    }
    WAIT_UNTIL(is_kept_now()); /* and none comes for a while */
    const pthread_t thread = thread_begin(make_and_join, NULL);
    for (int i = 0; i < 40; i++) {
        const pid_t child = fork();
        if (child == 0) {
            (void)in_a_thread(allocate, NULL);
            check_alone();
            _exit(0);
        }
        child_ends_well(child);
    }
    (void)thread_end(thread);
    check_alone();
}

/* Cases: what only a process of one thread may do. */

static void rights_are_dropped(void)
{
    static const char *const lines[] = { "Uid:", "CapEff:", "NoNewPrivs:", "Seccomp:" };
    struct sock_filter allow[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
    const struct sock_fprog program = { COUNT_OF(allow), allow };
    end_company(begin_company());
    burst();
    check_alone();
    if (getuid() == 0) {
        CHECK(syscall(SYS_setresuid, NOBODY, NOBODY, NOBODY) == 0);
        CHECK(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0); /* so that it may still look at itself */
    }
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
    go_on = 0; /* what is made now has no more rights */
    const pthread_t thread = thread_begin(run_until_told, NULL);
    WAIT_UNTIL(task_count() == 2 + (size_t)kept());
    struct task tasks[TASKS_MOST];
    const size_t count = tasks_of(tasks, TASKS_MOST);
    for (size_t l = 0; l < COUNT_OF(lines); l++) {
        char own[128];
        status_line(getpid(), lines[l], own);
        for (size_t i = 0; i < count; i++) {
            char line[128];
            status_line(tasks[i].number, lines[l], line);
            CHECK_SAY(strcmp(own, line) == 0, "%s: %s", tasks[i].name, line);
        }
    }
    go_on = 1;
    (void)thread_end(thread);
    WAIT_UNTIL(task_count() == 1);
}

static void rights_of_all_threads_are_dropped(void)
{
    const pthread_t thread = begin_company();
    char line[128], wanted[32];
    if (getuid() != 0) {
        exit(CHECK_SKIPPED);
    }
    CHECK(setresgid(NOBODY, NOBODY, NOBODY) == 0 && setresuid(NOBODY, NOBODY, NOBODY) == 0);
    CHECK(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0);
    struct task tasks[TASKS_MOST];
    const size_t count = tasks_of(tasks, TASKS_MOST);
    CHECK(count == 2 + (size_t)kept());
    snprintf(wanted, sizeof wanted, "Uid:\t%d\t%d", NOBODY, NOBODY);
    for (size_t i = 0; i < count; i++) {
        status_line(tasks[i].number, "Uid:", line);
        CHECK_SAY(strncmp(line, wanted, strlen(wanted)) == 0, "%s: %s", tasks[i].name, line);
    }
    end_company(thread);
}

static void namespaces_are_left(void)
{
    if (getuid() != 0 && access("/proc/self/ns/user", R_OK) != 0) {
        exit(CHECK_SKIPPED);
    }
    const pid_t child = fork(); /* whether the system lets one thread do it */
    if (child == 0) {
        _exit(unshare(CLONE_NEWUSER) == 0 ? 0 : 1);
    }
    int status;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    if (status != 0) {
        exit(CHECK_SKIPPED);
    }
    end_company(begin_company());
    burst();
    check_alone();
    CHECK_SAY(unshare(CLONE_NEWUSER) == 0, "%s", strerror(errno));
}

/* Cases: what the keeper is to have of its own, and what it takes. */

struct scheduling {
    cpu_set_t processors;
    int policy;
};

static void *make_as_bound_to_one(void *argument)
{
    const struct scheduling *const whole = argument;
    cpu_set_t one, of_keeper;
    CPU_ZERO(&one);
    for (int i = 0; CPU_COUNT(&one) == 0; i++) {
        if (CPU_ISSET(i, &whole->processors)) {
            CPU_SET(i, &one);
        }
    }
    CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
    const struct sched_param first = { .sched_priority = 1 };
    (void)sched_setscheduler(0, SCHED_FIFO, &first); /* where we may */
    const pthread_t thread = begin_company();
    if (kept()) {
        const pid_t number = keeper();
        WAIT_UNTIL(sched_getaffinity(number, sizeof of_keeper, &of_keeper) == 0 &&
                   CPU_EQUAL(&of_keeper, &whole->processors));
        WAIT_UNTIL(sched_getscheduler(number) == whole->policy);
    }
    end_company(thread);
    return argument;
}

static void it_is_scheduled_as_others(void)
{
    struct scheduling whole = { .policy = sched_getscheduler(0) };
    CHECK(sched_getaffinity(0, sizeof whole.processors, &whole.processors) == 0);
    /* In main, so that there is a keeper only while it makes a thread. */
    (void)make_as_bound_to_one(&whole);
}

static void the_last_thread_of_a_limit(void)
{
    const struct rlimit limit = { 3, 3 };
    const uid_t own = 100000 + (uid_t)getpid(); /* no other process counts */
    if (getuid() != 0 || setresuid(own, own, own) != 0) {
        exit(CHECK_SKIPPED);
    }
    CHECK(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0);
    CHECK(setrlimit(RLIMIT_NPROC, &limit) == 0);
    for (int round = 0; round < 3; round++) {
        pthread_t none;
        const pthread_t first = begin_company(), second = thread_begin(run_until_told, NULL);
        CHECK(keeper() == 0);
        CHECK(pthread_create(&none, NULL, run_until_told, NULL) == EAGAIN);
        WAIT_UNTIL(running == 2);
        CHECK(keeper() == 0);
        go_on = 1;
        (void)thread_end(second);
        end_company(first);
        WAIT_UNTIL(task_count() == 1);
    }
}

static bool has_close_range(void)
{
    return syscall(SYS_close_range, ~0u, ~0u, 0) == 0;
}

static void descriptors_are_the_programs(void)
{
    int ends[2];
    char byte;
    const pthread_t thread = begin_company();
    CHECK(pipe(ends) == 0 && close(ends[1]) == 0);
    CHECK(read(ends[0], &byte, 1) == 0 && close(ends[0]) == 0);
    if (kept() && has_close_range()) {
        char path[64];
        snprintf(path, sizeof path, "/proc/self/task/%d/fd", keeper());
        size_t open = 0;
        DIR *const all = opendir(path);
        CHECK(all != NULL);
        for (const struct dirent *entry; (entry = readdir(all)) != NULL;) {
            char name[64] = "";
            (void)readlinkat(dirfd(all), entry->d_name, name, sizeof name - 1);
            /* By this one it follows a program of root's that gives up rights. */
            open += entry->d_name[0] != '.' && strstr(name, "/status") == NULL;
        }
        closedir(all);
        CHECK_SAY(open == 0, "the keeper has %zu", open);
    }
    /* Numbers are the lowest, and nobody else's. */
    for (int i = 0; i < 100000; i++) {
        const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        CHECK_SAY(fd == ends[0], "%d instead of %d", fd, ends[0]);
        CHECK(close(fd) == 0);
        if (i % 10000 == 0) {
            burst();
        }
    }
    end_company(thread);
}

/* A filter that kills for what a program with threads need not call. */
static void a_filter_that_kills(void)
{
    static const unsigned forbidden[] = { SYS_close_range, SYS_sched_setaffinity, SYS_sched_setscheduler };
    struct sock_filter filter[2 * COUNT_OF(forbidden) + 2];
    size_t at = 0;
    filter[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < COUNT_OF(forbidden); i++) {
        filter[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, forbidden[i], 0, 1);
        filter[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    }
    filter[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const struct sock_fprog program = { (unsigned short)at, filter };
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        exit(CHECK_SKIPPED);
    }
    for (int i = 0; i < 3; i++) {
        go_on = 0;
        const pthread_t thread = thread_begin(run_until_told, NULL);
        burst();
        pause_ms(300);
        go_on = 1;
        (void)thread_end(thread);
    }
}

/* Cases: options. */

static size_t resident(void)
{
    char line[128];
    size_t pages[2] = { 0 };
    const int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    const ssize_t length = fd < 0 ? -1 : read(fd, line, sizeof line - 1);
    CHECK(length > 0 && close(fd) == 0);
    line[length] = 0;
    CHECK(sscanf(line, "%zu %zu", &pages[0], &pages[1]) == 2);
    return pages[1] * (size_t)sysconf(_SC_PAGESIZE);
}

static void one_thread_gives_back(void)
{
    enum { BLOCKS = 100000, BYTES = 500 };
    static void *blocks[BLOCKS];
    if (kept()) {
        WAIT_UNTIL(keeper() != 0 && task_count() == 2);
    }
    for (size_t i = 0; i < BLOCKS; i++) {
        blocks[i] = keep(malloc(BYTES));
        memset(blocks[i], 1, BYTES);
    }
    const size_t full = resident();
    for (size_t i = 0; i < BLOCKS; i++) {
        free(blocks[i]);
    }
    WAIT_UNTIL(!kept() || resident() + 30 * MIB < full);
    /* So does the child of a fork. */
    const pid_t child = fork();
    if (child == 0) {
        WAIT_UNTIL((keeper() != 0) == kept());
        (void)in_a_thread(allocate, NULL);
        WAIT_UNTIL((keeper() != 0) == kept());
        _exit(0);
    }
    child_ends_well(child);
    pthread_exit(NULL); /* and the process ends */
}

static void no_keeper_at_all(void)
{
    CHECK(!kept());
    const pthread_t thread = thread_begin(allocate, NULL);
    burst();
    CHECK(keeper() == 0);
    (void)thread_end(thread);
    check_alone();
}

static void one_thread_has_none(void)
{
    burst();
    burst();
    check_alone();
}

static const struct {
    const char *name;
    void (*body)(void);
    const char *option; /* keeper */
    int signal;         /* that ends it */
} cases[] = {
    { "one-thread", one_thread_has_none, NULL, 0 },
    { "threads-end", all_threads_end, NULL, 0 },
    { "destructors", destructors_make_threads, NULL, 0 },
    { "many-at-once", many_at_once, NULL, 0 },
    { "main-exits", main_exits, NULL, 0 },
    { "main-exits-last", main_exits_last, NULL, 0 },
    { "signal", a_signal_ends_it, NULL, SIGTERM },
    { "thread-exits", a_thread_exits, NULL, 0 },
    { "fork-in-thread", forks_in_a_thread, NULL, 0 },
    { "fork-beside", forks_beside_threads, NULL, 0 },
    { "loop", loop_beside_forks, NULL, 0 },
    { "rights", rights_are_dropped, NULL, 0 },
    { "rights-of-all", rights_of_all_threads_are_dropped, NULL, 0 },
    { "namespaces", namespaces_are_left, NULL, 0 },
    { "scheduling", it_is_scheduled_as_others, NULL, 0 },
    { "limit", the_last_thread_of_a_limit, NULL, 0 },
    { "descriptors", descriptors_are_the_programs, NULL, 0 },
    { "filter", a_filter_that_kills, NULL, 0 },
    { "always", one_thread_gives_back, "2", 0 },
    { "always-main-exits", main_exits, "2", 0 },
    { "never", no_keeper_at_all, "0", 0 },
};

/* A process that does not end is a fault, too, and may have no thread left that a signal could end. */
static int status_of(pid_t child)
{
    int status;
    for (long waited = 0; waitpid(child, &status, WNOHANG) == 0; waited += PAUSE_MS) {
        if (waited >= 2 * PATIENCE_MS) {
            CHECK(kill(child, SIGKILL) == 0 && waitpid(child, &status, 0) == child);
            return -1;
        }
        pause_ms(PAUSE_MS);
    }
    return status;
}

static void run_case(size_t i)
{
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        if (cases[i].option != NULL) {
            CHECK(setenv("TSLAB_KEEPER", cases[i].option, 1) == 0);
        }
        execl("/proc/self/exe", "company", cases[i].name, (char *)NULL);
        _exit(98);
    }
    const int status = status_of(child);
    CHECK_SAY(status != -1, "%s: it does not end", cases[i].name);
    if (WIFEXITED(status) && WEXITSTATUS(status) == CHECK_SKIPPED) {
        printf("%s: cannot be tested here\n", cases[i].name);
        return;
    }
    const bool done = cases[i].signal == 0 ? status == 0 : WIFSIGNALED(status) && WTERMSIG(status) == cases[i].signal;
    CHECK_SAY(done, "%s: status %#x", cases[i].name, (unsigned)status);
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        if (argc == 1) {
            run_case(i);
        } else if (strcmp(argv[1], cases[i].name) == 0) {
            cases[i].body();
            return 0;
        }
    }
    CHECK_SAY(argc == 1, "there is no case %s", argv[1]);
    return 0;
}
