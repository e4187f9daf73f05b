/* Real control groups: the library sees the limit that the kernel enforces, and saves memory near it.
 *
 * A test makes no groups unasked. TESTS_CGROUP names the folder of a group in which this one may make another, with
 * a memory controller, of version 2 or 1, below /sys/fs/cgroup. The group goes when the test ends. */
#include "boxes.h"
#include "child.h"
#include "company.h"
#include "engine.h"

#include "os/container.h"
#include "space/limit.h"
#include "space/reclaim.h"

#include <pthread.h>
#include <semaphore.h>
#include <sys/stat.h>
#include <time.h>
#include <tslab/tslab.h>

enum { SKIPPED = 77, GROUP_MIB = 128, FILE_MIB = 192, AGAIN_MIB = 100, MOST = 4096 };

static char group[512];
static bool is_first_version;
static void *blocks[MOST];

/* False: there is no such file, or it refuses the text. */
static bool write_file(const char *name, const char *text)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", group, name);
    const int descriptor = open(path, O_WRONLY);
    const bool written = descriptor >= 0 && write(descriptor, text, strlen(text)) == (ssize_t)strlen(text);
    if (descriptor >= 0) {
        close(descriptor);
    }
    return written;
}

static bool set_bytes(const char *name, size_t bytes)
{
    char text[32];
    snprintf(text, sizeof text, "%zu", bytes);
    return write_file(name, text);
}

static size_t used_bytes(void)
{
    char path[600];
    size_t bytes = 0;
    snprintf(path, sizeof path, "%s/%s", group, is_first_version ? "memory.usage_in_bytes" : "memory.current");
    FILE *const file = fopen(path, "r");
    CHECK(file != NULL && fscanf(file, "%zu", &bytes) == 1 && fclose(file) == 0); /* NOLINT(cert-err34-c) */
    return bytes;
}

static const char *limit_file(void)
{
    return is_first_version ? "memory.limit_in_bytes" : "memory.max";
}

/* Moves the process into the group, so that what it touches from now on is charged there. */
static void join(size_t limit_bytes)
{
    char text[32];
    snprintf(text, sizeof text, "%d", (int)getpid());
    (void)write_file("memory.swap.max", "0");
    CHECK(set_bytes(limit_file(), limit_bytes) && write_file("cgroup.procs", text));
}

/* Allocates so many bytes, or until it is refused. Returns the bytes. */
static size_t fill(size_t bytes)
{
    enum { BLOCK = 300000 };
    size_t n = 0;
    while (n < bytes / BLOCK && (blocks[n] = tslab_malloc(BLOCK)) != NULL) {
        memset(blocks[n], 1, BLOCK);
        n++;
    }
    return n * BLOCK;
}

static void empty(void)
{
    for (size_t i = 0; i < MOST; i++) {
        tslab_free(blocks[i]);
        blocks[i] = NULL;
    }
}

IN_A_CHILD(the_limit_is_seen)
{
    struct container found;
    join(GROUP_MIB * MIB);
    CHECK(fill(50 * MIB) > 49 * MIB);
    CHECK(container_open() && container_look(&found));
    CHECK_SAY(found.limit_bytes == GROUP_MIB * MIB, "the limit is %llu", (unsigned long long)found.limit_bytes);
    CHECK_SAY(found.left_bytes <= (GROUP_MIB - 49) * MIB, "%llu bytes are left", (unsigned long long)found.left_bytes);
    if (!is_first_version) {
        CHECK(set_bytes("memory.high", 100 * MIB));
        CHECK(container_look(&found) && found.limit_bytes == 100 * MIB);
        CHECK(write_file("memory.high", "max"));
    }
}

/* The last block that it touches is one too many, and the kernel ends the process. */
static void exceed_the_limit(const void *argument)
{
    join(GROUP_MIB * MIB);
    (void)fill((GROUP_MIB + 32) * MIB);
}

IN_A_CHILD(a_hard_limit_comes_first)
{
    join(GROUP_MIB * MIB);
    CHECK(tslab_limits_set(&(struct tslab_limits){ .hard_bytes = (GROUP_MIB - 32) * MIB }) == TSLAB_OK);
    const size_t bytes = fill((GROUP_MIB + 32) * MIB);
    CHECK_SAY(bytes > (GROUP_MIB - 48) * MIB && bytes <= (GROUP_MIB - 32) * MIB && errno == ENOMEM, "%zu bytes", bytes);
}

/* All that waits for reuse, and waits for long. */
static void wait_for_reuse(void)
{
    option_values[OPTION_RETAIN_BYTES] = GIB;
    option_values[OPTION_PURGE_DELAY_MS] = 3600000;
    join(GROUP_MIB * MIB);
    CHECK(fill(100 * MIB) > 99 * MIB);
    empty();
    CHECK_SAY(used_bytes() > 90 * MIB, "%zu bytes", used_bytes());
}

IN_A_CHILD(near_the_limit_nothing_waits)
{
    option_values[OPTION_KEEPER] = 0;
    wait_for_reuse();
    limit_watch_container();
    CHECK(!limit_look_at_container() && !limit_presses());
    CHECK(fill(121 * MIB) > 120 * MIB);
    CHECK(limit_look_at_container() && limit_presses());
    empty();
    tslab_free(keep(tslab_malloc(300000)));
    CHECK_SAY(used_bytes() < 20 * MIB, "%zu bytes", used_bytes());
}

/* Reads a file that the group has no room for, of nothing but holes, and a part of it again and again, so that the
 * kernel believes that it is wanted. TESTS_FILE names one where none can be made. */
static void read_much(void)
{
    static char part[1 << 20], own[64] = "/tmp/tslab-read-XXXXXX";
    const char *const given = getenv("TESTS_FILE");
    const int file = given != NULL ? open(given, O_RDONLY) : mkstemp(own);
    CHECK(file >= 0 && (given != NULL || (unlink(own) == 0 && ftruncate(file, FILE_MIB * MIB) == 0)));
    for (size_t i = 0; i < FILE_MIB + 4 * AGAIN_MIB; i++) {
        const size_t at = i < FILE_MIB ? i : i % AGAIN_MIB;
        CHECK(pread(file, part, sizeof part, (off_t)(at * MIB)) == (ssize_t)sizeof part);
    }
    CHECK_SAY(used_bytes() > (GROUP_MIB - GROUP_MIB / 16) * MIB, "%zu bytes", used_bytes());
}

/* A group that has read files is full, and the kernel takes their pages back when it needs memory. */
IN_A_CHILD(pages_of_files_are_no_use)
{
    option_values[OPTION_KEEPER] = 0;
    join(GROUP_MIB * MIB);
    limit_watch_container();
    CHECK(fill(20 * MIB) > 19 * MIB);
    read_much();
    CHECK(!limit_look_at_container() && !limit_presses());
    empty();
    CHECK(fill(118 * MIB) > 117 * MIB);
    CHECK(limit_look_at_container() && limit_presses());
    empty();
    tslab_free(keep(tslab_malloc(300000)));
    CHECK(!limit_look_at_container() && !limit_presses());
}

/* A thread that has used the library, so that there is a keeper. */
static void *sleep_for_long(void *is_there)
{
    tslab_free(keep(tslab_malloc(1000)));
    CHECK(sem_post(is_there) == 0);
    for (;;) {
        (void)sleep(1000);
    }
    return NULL;
}

/* The group's limit falls while the process is idle. The library finds out by itself. */
IN_A_CHILD(an_idle_process_sees_it)
{
    enum { TRIES = 100 };
    const struct timespec pause = { .tv_nsec = 100000000 };
    static sem_t is_there;
    pthread_t idle;
    CHECK(sem_init(&is_there, 0, 0) == 0);
    wait_for_reuse(); /* a keeper looks once whether there is a limit, when it begins */
    make_counted(&idle, sleep_for_long, &is_there);
    CHECK(sem_wait(&is_there) == 0);
    CHECK(set_bytes(limit_file(), used_bytes() + 3 * MIB));
    unsigned tries = 0;
    while (used_bytes() > 20 * MIB && tries < TRIES) {
        (void)nanosleep(&pause, NULL);
        tries++;
    }
    CHECK_SAY(tries < TRIES, "%zu bytes", used_bytes());
    _exit(0);
}

/* Black boxes. A process takes memory as fast as it can until the kernel ends it, in blocks of so many bytes. */
static char boxes[300];

static void die_with_a_box(const void *argument)
{
    const size_t bytes = *(const size_t *)argument;
    join(GROUP_MIB * MIB);
    boxes_begin(boxes);
    for (;;) {
        memset(keep(tslab_malloc(bytes)), 1, bytes);
    }
}

/* The use of the group, as the last whole report in the process's file tells it. 0: there is no report. */
static size_t used_in_box(pid_t process)
{
    static char text[1 << 20];
    char path[400];
    size_t used = 0;
    snprintf(path, sizeof path, "%s/tslab.%s.%d.0", boxes, os_program_name(), (int)process);
    const int file = open(path, O_RDONLY);
    if (file < 0) {
        return 0;
    }
    const ssize_t length = read(file, text, sizeof text - 1);
    CHECK(length >= 0 && close(file) == 0 && unlink(path) == 0);
    text[length] = 0;
    static const char key[] = "\"near\":{\"of\":\"container\",\"label\":\"\",\"limit_bytes\":134217728,\"used_bytes\":";
    for (const char *at = text; (at = strstr(at, key)) != NULL && strchr(at, '\n') != NULL; at++) {
        used = strtoull(at + sizeof key - 1, NULL, 10);
    }
    return used;
}

TEST(a_box_is_left)
{
    enum { KILLS = 10 };
    static const size_t sizes[] = { 100, 1000, 30000, 300000, 2000000 };
    const char *const folder = getenv("TESTS_FOLDER");
    unsigned told = 0;
    snprintf(boxes, sizeof boxes, "%.200s/tslab-boxes-XXXXXX", folder != NULL ? folder : "/tmp");
    assert_non_null(mkdtemp(boxes));
    for (size_t i = 0; i < KILLS; i++) {
        const struct child child = child_run(die_with_a_box, &sizes[i % COUNT_OF(sizes)]);
        assert_true(WIFSIGNALED(child.status) && WTERMSIG(child.status) == SIGKILL);
        const size_t used = used_in_box(child.pid);
        printf("blocks of %zu: %zu bytes were used\n", sizes[i % COUNT_OF(sizes)], used);
        told += used >= GROUP_MIB * MIB / 100 * 95;
    }
    assert_true(rmdir(boxes) == 0 && told >= KILLS * 9 / 10);
}

TEST(the_kernel_enforces_it)
{
    const struct child child = child_run(exceed_the_limit, NULL);
    assert_true(WIFSIGNALED(child.status) && WTERMSIG(child.status) == SIGKILL);
}

/* Says why there is nothing to test, and undoes what was done. */
static int give_up(const char *why)
{
    printf("SKIP: %s\n", why);
    if (group[0] != 0) {
        (void)rmdir(group);
    }
    return SKIPPED;
}

static bool has_file(const char *name)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", group, name);
    return access(path, W_OK) == 0;
}

int main(void)
{
    const char *const around = getenv("TESTS_CGROUP");
    if (around == NULL || around[0] == 0) {
        return give_up("TESTS_CGROUP names no control group in which this test may make one");
    }
    snprintf(group, sizeof group, "%.400s/tslab-test-%d", around, (int)getpid());
    if (mkdir(group, 0700) != 0) {
        printf("%s: %s\n", group, strerror(errno));
        group[0] = 0;
        return give_up("no control group can be made");
    }
    is_first_version = has_file("memory.limit_in_bytes");
    if (!is_first_version && !has_file("memory.max")) {
        return give_up("the control group has no memory controller (cgroup.subtree_control)");
    }
    printf("version %d: %s\n", is_first_version ? 1 : 2, group);
    const int failures = tests_run();
    return rmdir(group) == 0 ? failures : 1;
}
