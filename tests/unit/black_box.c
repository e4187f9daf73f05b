/* Black boxes: when they are written, what they are called, how many there are, and what they never do. The test of
 * their words is tslab's (tests/tslab/test_blackbox.py). */
#include "boxes.h"
#include "child.h"
#include "engine.h"
#include "faults.h"
#include "groups.h"

#include "audit/accounts.h"
#include "audit/census.h"
#include "common/quota.h"
#include "space/limit.h"

#include <dirent.h>
#include <pthread.h>
#include <sys/stat.h>
#include <tslab/tslab.h>
#include <unistd.h>

enum { HARD_MIB = 64, MOST = 256, PAUSE_MS = BOX_PAUSE_MS + 100 };

static char folder[] = "/tmp/tslab-boxes-XXXXXX";
static void *blocks[MOST];
static unsigned count;

/* In a folder of its own, with no keeper to come by. */
static void begin_in(const char *directory)
{
    inject_nothing();
    os_calls.now_ms = test_clock;
    option_values[OPTION_KEEPER] = 0;
    option_values[OPTION_RETAIN_LIMIT_BYTES] = 0;
    boxes_begin(directory);
}

static void begin(void)
{
    CHECK(mkdtemp(folder) != NULL);
    begin_in(folder);
}

static void end(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CHECK(system(command) == 0); /* NOLINT(cert-env33-c): the test's own folder */
}

static void limit_to(size_t mib)
{
    CHECK(tslab_limits_set(&(struct tslab_limits){ .hard_bytes = mib * MIB }) == TSLAB_OK);
}

/* Holds so many blocks of 1 MiB from now on. */
static void hold(unsigned mib)
{
    for (; count < mib; count++) {
        blocks[count] = keep(tslab_malloc(MIB));
        memset(blocks[count], 1, MIB);
    }
    while (count > mib) {
        tslab_free(blocks[--count]);
    }
    tslab_free(keep(tslab_malloc(MIB / 2))); /* somebody comes by */
}

/* The reports in the file with this number of a process, each of which is a line. -1: there is no file. */
static int reports_of(pid_t process, unsigned number)
{
    static char text[1 << 20];
    char path[300];
    int reports = 0;
    snprintf(path, sizeof path, "%s/tslab.%s.%d.%u", folder, os_program_name(), (int)process, number);
    const int file = open(path, O_RDONLY);
    if (file < 0) {
        return -1;
    }
    const ssize_t length = read(file, text, sizeof text - 1);
    CHECK(length >= 0 && close(file) == 0);
    text[length] = 0;
    for (const char *at = text; (at = strstr(at, "{\"schema\":\"tslab-statistics\"")) != NULL; at++) {
        CHECK((at == text || at[-1] == '\n') && strstr(at, "}\n") != NULL && strstr(at, "\"near\":{\"of\":") != NULL);
        reports++;
    }
    return reports;
}

static void has(int first, int second)
{
    const int found[] = { reports_of(getpid(), 0), reports_of(getpid(), 1) };
    CHECK_SAY(found[0] == first && found[1] == second, "%d and %d reports at %u MiB", found[0], found[1], count);
}

IN_A_CHILD(one_file_a_rise)
{
    begin();
    limit_to(HARD_MIB);
    hold(50);
    has(-1, -1);
    hold(58);
    has(1, -1);
    hold(60);
    has(1, -1);
    hold(62);
    has(2, -1);
    CHECK(tslab_malloc(10 * MIB) == NULL); /* a refusal is as near as that */
    hold(63);
    hold(57);
    hold(63);
    has(2, -1);
    hold(40);
    hold(59); /* it has risen again, but that is too early */
    has(2, -1);
    clock_ms += PAUSE_MS;
    hold(60);
    has(2, 1);
    hold(63);
    has(2, 2);
    end();
}

IN_A_CHILD(a_refusal_is_near_enough)
{
    begin();
    limit_to(HARD_MIB);
    hold(40);
    errno = 0;
    CHECK(tslab_malloc(40 * MIB) == NULL && errno == ENOMEM);
    has(1, -1);
    CHECK(tslab_malloc(40 * MIB) == NULL && tslab_realloc(blocks[0], 40 * MIB) == NULL);
    hold(41);
    has(1, -1);
    hold(20);
    clock_ms += PAUSE_MS;
    hold(40);
    has(1, -1);
    CHECK(tslab_realloc(blocks[0], 40 * MIB) == NULL);
    has(1, 1);
    end();
}

IN_A_CHILD(the_newest_stay)
{
    enum { RISES = BOX_FILES + 2 };
    struct stat found[2];
    char path[300];
    begin();
    limit_to(HARD_MIB);
    for (unsigned rise = 0; rise < RISES; rise++) {
        hold(rise < BOX_FILES ? 62 : 59);
        hold(30);
        clock_ms += PAUSE_MS;
        CHECK(usleep(20000) == 0); /* the clock of the file system */
    }
    CHECK(reports_of(getpid(), BOX_FILES) == -1);
    for (unsigned number = 0; number < BOX_FILES; number++) {
        const int reports = reports_of(getpid(), number);
        CHECK_SAY(reports == (number < RISES - BOX_FILES ? 1 : 2), "%u has %d reports", number, reports);
    }
    for (unsigned i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/tslab.%s.%d.%u", folder, os_program_name(), (int)getpid(), i + 1);
        CHECK(stat(path, &found[i]) == 0);
    }
    CHECK(found[0].st_mtim.tv_sec > found[1].st_mtim.tv_sec ||
          (found[0].st_mtim.tv_sec == found[1].st_mtim.tv_sec && found[0].st_mtim.tv_nsec > found[1].st_mtim.tv_nsec));
    CHECK((found[0].st_mode & 0777) == 0600);
    end();
}

/* A child inherits what was told, and has files of its own. */
IN_A_CHILD(a_child_has_its_own)
{
    begin();
    limit_to(HARD_MIB);
    hold(59);
    const pid_t parent = getpid(), child = fork();
    if (child == 0) {
        hold(60);
        CHECK(reports_of(getpid(), 0) == -1);
        hold(62);
        CHECK(reports_of(getpid(), 0) == 1 && reports_of(parent, 0) == 1);
        _exit(0);
    }
    child_ends_well(child);
    hold(62);
    has(2, -1);
    end();
}

IN_A_CHILD(a_label)
{
    void *of_epoch[20];
    begin();
    option_load((char *[]){ "TSLAB_EPOCH_LIMITS=tenant=16M", NULL });
    const tslab_epoch epoch = tslab_epoch_open(&(struct tslab_epoch_options){ .label = "tenant" });
    unsigned n = 0;
    for (; n < 13; n++) {
        of_epoch[n] = keep(tslab_epoch_malloc(epoch, 1000000));
    }
    has(-1, -1);
    for (; n < 15; n++) {
        of_epoch[n] = keep(tslab_epoch_malloc(epoch, 1000000));
    }
    has(1, -1);
    while (n < 20 && (of_epoch[n] = tslab_epoch_malloc(epoch, 1000000)) != NULL) {
        n++;
    }
    CHECK(n < 20);
    has(2, -1);
    CHECK(tslab_epoch_malloc(epoch, 1000000) == NULL);
    has(2, -1);
    while (n > 0) {
        tslab_free(of_epoch[--n]);
    }
    CHECK(tslab_epoch_close(epoch, 0, NULL) == TSLAB_OK);
    end();
}

/* A second label holds nothing any more when the time for its file comes. */
IN_A_CHILD(no_file_when_all_is_freed)
{
    void *blocks_of[2];
    begin();
    option_load((char *[]){ "TSLAB_EPOCH_LIMITS=a=16M:b=16M", NULL });
    for (unsigned i = 0; i < 2; i++) {
        const tslab_epoch epoch = tslab_epoch_open(&(struct tslab_epoch_options){ .label = i == 0 ? "a" : "b" });
        blocks_of[i] = keep(tslab_epoch_malloc(epoch, 10 * MIB));
        CHECK(tslab_epoch_malloc(epoch, 10 * MIB) == NULL && tslab_epoch_close(epoch, 0, NULL) == TSLAB_OK);
    }
    has(1, -1);
    tslab_free(blocks_of[1]);
    clock_ms += PAUSE_MS;
    hold(1);
    has(1, -1);
    end();
}

/* A limit that is raised is far away, and a rise to it is another one. */
IN_A_CHILD(a_limit_that_is_raised)
{
    begin();
    limit_to(HARD_MIB);
    hold(58);
    hold(62);
    has(2, -1);
    limit_to(2 * HARD_MIB);
    hold(64);
    clock_ms += PAUSE_MS;
    hold(117);
    has(2, 1);
    hold(124);
    has(2, 2);
    end();
}

/* A label that comes near its limit again and again does not hide that the process comes near its own. */
IN_A_CHILD(a_label_hides_nothing)
{
    begin();
    limit_to(HARD_MIB);
    option_load((char *[]){ "TSLAB_EPOCH_LIMITS=tenant=16M", NULL });
    const tslab_epoch epoch = tslab_epoch_open(&(struct tslab_epoch_options){ .label = "tenant" });
    void *const block = keep(tslab_epoch_malloc(epoch, 15 * MIB));
    has(1, -1);
    tslab_free(block);
    hold(59);
    has(1, 1);
    CHECK(tslab_epoch_close(epoch, 0, NULL) == TSLAB_OK);
    end();
}

/* A program that has closed its standard error gets no file in its place. */
IN_A_CHILD(no_standard_error)
{
    begin();
    limit_to(HARD_MIB);
    CHECK(close(STDERR_FILENO) == 0);
    hold(59);
    has(1, -1);
    CHECK(fcntl(STDERR_FILENO, F_GETFD) == -1);
    end();
}

/* Begins in a group of 200 MB, of which other processes use so many MB. */
static void begin_container(const char *use)
{
    begin_groups("0::/\n");
    put_file("memory.max", "200000000\n");
    put_use(use, "anon 1\n");
}

/* Before there is a keeper, and between its looks, a process counts what itself has taken. */
IN_A_CHILD(a_container)
{
    begin_container("100");
    begin();
    hold(60);
    has(-1, -1);
    hold(82);
    has(1, -1);
    hold(95);
    has(2, -1);
    limit_watch_container();
    put_use("120", "anon 1\n");
    CHECK(!limit_look_at_container());
    hold(101);
    clock_ms += PAUSE_MS;
    has(2, -1);
    put_use("185", "anon 1\n");
    CHECK(limit_look_at_container()); /* the nap is over */
    hold(102);
    has(2, 1);
    put_use("199", "anon 1\n");
    CHECK(limit_look_at_container());
    hold(103);
    has(2, 2);
    CHECK(!limit_look_at_container());
    end_groups();
    end();
}

/* Memory that is mapped and not touched is no use of a container. */
IN_A_CHILD(what_is_not_touched)
{
    begin_container("10");
    begin();
    for (unsigned i = 0; i < 8; i++) {
        blocks[count++] = keep(tslab_malloc(100 * MIB));
    }
    has(-1, -1);
    hold(0);
    limit_watch_container();
    hold(165);
    has(1, -1);
    end_groups();
    end();
}

IN_A_CHILD(tasks_that_wait)
{
    begin_container("10");
    put_file("memory.pressure", "some avg10=25.00 avg60=1.00 avg300=0.00 total=1\n");
    begin();
    hold(1);
    has(1, -1);
    end_groups();
    end();
}

/* No directory; something else in the file's place; no room for the name. It is said once, and nothing waits. */
static void it_cannot_be_written(const void *argument)
{
    const unsigned which = *(const unsigned *)argument;
    char path[300];
    static char longest[256];
    memset(longest, 'x', OPTION_PATH_MOST);
    if (which == 0) {
        begin_in("/nowhere/at-all");
    } else if (which == 1) {
        begin();
        for (unsigned number = 0; number < BOX_FILES; number++) {
            snprintf(path, sizeof path, "%s/tslab.%s.%d.%u", folder, os_program_name(), (int)getpid(), number);
            CHECK(symlink("/dev/null", path) == 0);
        }
    } else {
        begin_in(longest);
    }
    limit_to(HARD_MIB);
    for (unsigned rise = 0; rise < 3; rise++) {
        hold(63);
        errno = 0;
        CHECK(tslab_malloc(5 * MIB) == NULL && errno == ENOMEM);
        hold(1);
        clock_ms += PAUSE_MS;
    }
    if (which == 1) {
        end();
    }
}

IN_A_CHILD(a_pipe_in_its_place)
{
    char path[300];
    begin();
    snprintf(path, sizeof path, "%s/tslab.%s.%d.0", folder, os_program_name(), (int)getpid());
    CHECK(mkfifo(path, 0600) == 0);
    limit_to(HARD_MIB);
    hold(59);
    CHECK(reports_of(getpid(), 1) == 1);
    end();
}

TEST(it_is_said_once)
{
    static const char *const said[] = {
        "tslab: no black box in /nowhere/at-all/tslab.*: its directory is not there\n",
        "tslab: no black box in */tslab.*: it is a symbolic link\n",
        "tslab: no black box in xxx*: its directory is not there\n",
    };
    for (unsigned which = 0; which < COUNT_OF(said); which++) {
        const struct child child = child_run(it_cannot_be_written, &which);
        const char *const line = strstr(child.said, "tslab: no black box");
        assert_int_equal(child.status, 0);
        assert_true(line != NULL && strstr(strchr(line, '\n'), "no black box") == NULL);
        assert_non_null(strstr(line, strrchr(said[which], ':')));
    }
}

/* Threads that all see it, and one that writes. */
static pthread_barrier_t begins;

static void *grow(void *unused)
{
    (void)pthread_barrier_wait(&begins);
    for (unsigned i = 0; i < 365; i++) {
        (void)keep(tslab_malloc(32768));
    }
    return unused;
}

IN_A_CHILD(one_of_many_writes)
{
    pthread_t threads[5];
    begin();
    limit_to(HARD_MIB);
    CHECK(pthread_barrier_init(&begins, NULL, 5) == 0);
    in_threads(COUNT_OF(threads), grow, NULL, 0);
    has(1, -1);
    hold(2);
    has(2, -1);
    end();
}

/* A walk whose time is over leaves out what it has not found, and the accounts say how much. */
IN_A_CHILD(walks_have_a_time)
{
    struct accounts accounts;
    begin();
    hold(50);
    census_end_in(0);
    (void)accounts_take(&accounts, RESIDENT_UNTOLD);
    CHECK(accounts.live_large.bytes == 0 && accounts.moving_runs.bytes >= 50 * MIB);
    census_end_in(CENSUS_NO_END);
    (void)accounts_take(&accounts, RESIDENT_UNTOLD);
    CHECK(accounts.live_large.bytes >= 50 * MIB && accounts.moving_runs.bytes == 0);
    end();
}

IN_A_CHILD(without_it_nothing_is_written)
{
    CHECK(mkdtemp(folder) != NULL);
    limit_to(HARD_MIB);
    hold(63);
    CHECK(rmdir(folder) == 0);
}
