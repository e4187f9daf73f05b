/* The figures of living epochs: by structure, as text and as JSON. */
#include "epoch.h"
#include "figures.h"

#include <spawn.h>

enum { CHUNK_BYTES = 4 * UNIT };

/* The structures. */

/* However many there is room for, and no more. The fuzzer's oracle knows what a list says. */
CASE(a_list_ends_where_its_room_does)
{
    enum { OPEN = 50 };
    tslab_epoch epochs[OPEN];
    struct tslab_epoch_stats list[OPEN + 1], untouched;
    for (size_t i = 0; i < OPEN; i++) {
        epochs[i] = opened();
    }
    memset(&untouched, 0x77, sizeof untouched);
    for (size_t capacity = 0; capacity <= OPEN; capacity++) {
        memset(list, 0x77, sizeof list);
        CHECK(tslab_epoch_list(list, capacity) == OPEN);
        CHECK(capacity == 0 || stats_of(list[capacity - 1].epoch).state == TSLAB_EPOCH_OPEN);
        CHECK(memcmp(&list[capacity], &untouched, sizeof untouched) == 0);
    }
    for (size_t i = 0; i < OPEN; i++) {
        STATUS(tslab_epoch_release(epochs[i], 0, NULL), TSLAB_OK);
        CHECK(tslab_epoch_list(NULL, 0) == OPEN - 1 - i);
    }
}

/* Slabs that empty before the close do not count, and those that empty after it do. */
CASE(slabs_that_drain_are_counted)
{
    enum { OBJECTS = 40000, SIZE = 240, OF_A_SLAB = UNIT / 256 };
    static void *objects[OBJECTS];
    char name[40];
    const tslab_epoch epoch = opened();
    enter(epoch);
    tslab_free(filled(epoch, 8 << 20, 0)); /* so much, and it goes over to slabs */
    for (size_t i = 0; i < OBJECTS; i++) {
        objects[i] = filled(epoch, SIZE, i);
    }
    const uint64_t before = figure("slabs_recycled");
    snprintf(name, sizeof name, "class.%zu.slabs_drained", tslab_usable_size(objects[OBJECTS - 1]));
    for (size_t i = 0; i < OBJECTS / 2; i++) {
        tslab_free(objects[i]);
    }
    leave(epoch);
    CHECK(figure(name) == 0);
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
    for (size_t i = OBJECTS / 2; i < OBJECTS; i++) {
        tslab_free(objects[i]);
    }
    check_gone(epoch);
    CHECK(figure("slabs_recycled") > before);
    CHECK_SAY(figure(name) >= OBJECTS / 2 / OF_A_SLAB / 2 && figure(name) <= OBJECTS / 2 / OF_A_SLAB + 2,
              "%llu slabs drained", (unsigned long long)figure(name));
}

/* One that does not drain can be found: closed for so long, held by so many. */
CASE(what_does_not_drain_can_be_found)
{
    const tslab_epoch good = opened_as("good", TSLAB_POLICY_DRAIN), bad = opened_as("pinned", TSLAB_POLICY_DRAIN);
    void *p = NULL;
    for (size_t i = 0; i < 1000; i++) {
        tslab_free(p);
        tslab_free(filled(good, 200, i));
        p = filled(bad, 200, i);
    }
    STATUS(tslab_epoch_close(good, 0, NULL), TSLAB_OK);
    STATUS(tslab_epoch_close(bad, 0, NULL), TSLAB_OK);
    usleep(40 * 1000);
    struct tslab_epoch_stats list[4];
    CHECK(tslab_epoch_list(list, COUNT_OF(list)) == 1);
    CHECK(strcmp(list[0].label, "pinned") == 0 && list[0].state == TSLAB_EPOCH_DRAINING);
    CHECK(list[0].live_objects == 1 && list[0].closed_ms >= 20 && list[0].age_ms >= list[0].closed_ms);
    CHECK_SAY(list[0].memory_bytes <= 256 * KILOBYTE, "one object holds %llu bytes",
              (unsigned long long)list[0].memory_bytes);
    tslab_free(p);
    CHECK(tslab_epoch_list(list, COUNT_OF(list)) == 0);
}

/* A report beside threads at work is a little old, but never wild: nothing that only grows falls, and no difference is
 * below zero. */

enum { WORKERS = 2, WORKER_LIVE = 1000, WORKER_SIZES = 8 };

static void *work_on(void *argument)
{
    uint64_t random = (uintptr_t)argument;
    static _Thread_local void *live[WORKER_LIVE];
    for (size_t i = 0; i < times(400000); i++) {
        const size_t at = below(&random, WORKER_LIVE);
        tslab_free(live[at]);
        live[at] = tslab_malloc(16 + 48 * (at % WORKER_SIZES));
        CHECK(live[at] != NULL);
    }
    for (size_t i = 0; i < WORKER_LIVE; i++) {
        tslab_free(live[i]);
    }
    return NULL;
}

static atomic_bool worked;

static void *look_at_workers(void *unused)
{
    /* The slots that one slow path moves, of each class, are seen before or after. */
    enum { MOST = WORKERS * (WORKER_LIVE + WORKER_SIZES * 1024) };
    struct total_figures before = { 0 }, now;
    while (!atomic_load(&worked)) {
        totals_get(&now);
        CHECK_SAY(now.live_objects <= MOST, "%zu objects live", now.live_objects);
        CHECK(now.cached_bytes <= (size_t)64 * MEGABYTE && now.slab_bytes <= (size_t)64 * MEGABYTE);
        CHECK(now.allocations >= before.allocations && now.refills >= before.refills && now.flushes >= before.flushes);
        CHECK(now.slabs_opened >= before.slabs_opened && now.slabs_recycled >= before.slabs_recycled);
        before = now;
    }
    return unused;
}

CASE(threads_at_work_are_counted_sanely)
{
    pthread_t watcher;
    struct total_figures before, after;
    totals_get(&before);
    watcher = thread_begin(look_at_workers, NULL);
    in_threads(WORKERS, work_on, (void *)1, 1);
    atomic_store(&worked, true);
    (void)thread_end(watcher);
    totals_get(&after);
    CHECK(after.live_objects == before.live_objects);
    CHECK(after.allocations == before.allocations + WORKERS * times(400000));
}

/* The ends of epochs are counted, by whichever thread and way they came. */

static void *open_and_close(void *unused)
{
    for (size_t i = 0; i < 5; i++) {
        const tslab_epoch epoch = opened();
        STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
    }
    return unused;
}

static void check_epochs(const struct total_figures *before, uint64_t opened_since, uint64_t closed, uint64_t drained)
{
    struct total_figures now;
    totals_get(&now);
    CHECK_SAY(now.epochs_opened - before->epochs_opened == opened_since &&
                  now.epochs_closed - before->epochs_closed == closed &&
                  now.epochs_drained - before->epochs_drained == drained,
              "%llu epochs opened, %llu closed, %llu drained, not %llu, %llu, %llu",
              (unsigned long long)(now.epochs_opened - before->epochs_opened),
              (unsigned long long)(now.epochs_closed - before->epochs_closed),
              (unsigned long long)(now.epochs_drained - before->epochs_drained), (unsigned long long)opened_since,
              (unsigned long long)closed, (unsigned long long)drained);
    CHECK(now.epochs_opened - now.epochs_closed == now.epochs_open);
}

CASE(what_becomes_of_epochs_is_counted)
{
    struct total_figures before;
    totals_get(&before);
    in_a_thread(open_and_close, NULL);
    check_epochs(&before, 5, 5, 0);
    tslab_epoch epoch = opened(), inside = opened();
    void *const p = filled(epoch, 100, 1);
    (void)tslab_handle_malloc(epoch, 100, NULL);
    enter(inside);
    STATUS(tslab_epoch_advance(&inside, 0, NULL), TSLAB_OK);
    check_epochs(&before, 8, 6, 0);
    STATUS(tslab_epoch_close(inside, 0, NULL), TSLAB_PENDING);
    leave(inside);
    check_epochs(&before, 8, 7, 0);
    STATUS(tslab_epoch_close(inside, 0, NULL), TSLAB_STALE);
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_CLOSED);
    check_epochs(&before, 8, 8, 0);
    tslab_free(p);
    check_epochs(&before, 8, 8, 0); /* the object with a handle is there */
    STATUS(tslab_epoch_release(epoch, 0, NULL), TSLAB_OK);
    check_epochs(&before, 8, 8, 1);
    epoch = opened();
    void *const last = filled(epoch, 100, 2);
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
    check_epochs(&before, 9, 9, 1);
    verify_and_free(last, 100, 2);
    check_epochs(&before, 9, 9, 2);
    const tslab_instance instance = tslab_instance_open("root");
    STATUS(tslab_instance_close(instance, 0, NULL), TSLAB_OK);
    check_epochs(&before, 10, 10, 2);
}

CASE(units_of_work_are_counted)
{
    struct total_figures before, after;
    totals_get(&before);
    STATUS(tslab_work_end(), TSLAB_NOT_INSIDE);
    for (size_t i = 0; i < 10; i++) {
        STATUS(tslab_work_begin("unit"), TSLAB_OK);
        STATUS(tslab_work_begin("nested"), TSLAB_OK);
        STATUS(tslab_work_end(), TSLAB_OK);
        STATUS(tslab_work_end(), TSLAB_OK);
    }
    totals_get(&after);
    CHECK(after.work_units == before.work_units + 10);
}

/* Bytes, not objects: all that was allocated in chunks, whatever became of it, and never less than was told before. */
CASE(what_passes_through_chunks_is_counted)
{
    enum { EPOCHS = 20, OBJECTS = 300, BYTES = 1024 };
    struct total_figures before, now;
    tslab_epoch epochs[EPOCHS];
    void *objects[OBJECTS];
    totals_get(&before);
    uint64_t told = before.epoch_bytes, most = told;
    for (size_t e = 0; e < EPOCHS; e++) {
        epochs[e] = opened_as("passing", e % 2 == 0 ? TSLAB_POLICY_DRAIN : TSLAB_POLICY_RELEASE);
        enter(epochs[e]);
        for (size_t i = 0; i < OBJECTS; i++) {
            objects[i] = tslab_epoch_malloc(epochs[e], BYTES);
            if (e % 3 == 1) {
                tslab_free(objects[i]); /* the chunk starts anew each time */
            }
        }
        leave(epochs[e]);
        for (size_t i = 0; i < OBJECTS && e % 3 == 0; i++) {
            tslab_free(objects[i]);
        }
        most += (uint64_t)OBJECTS * (BYTES + (TSLAB_CHECKED ? 64 : 0));
        totals_get(&now);
        CHECK_SAY(now.epoch_bytes >= told + (uint64_t)OBJECTS * BYTES && now.epoch_bytes <= most,
                  "%llu bytes were allocated in chunks, not %llu more than %llu", (unsigned long long)now.epoch_bytes,
                  (unsigned long long)OBJECTS * BYTES, (unsigned long long)told);
        told = now.epoch_bytes;
    }
    for (size_t e = 0; e < EPOCHS; e++) {
        STATUS(tslab_epoch_close(epochs[e], 0, NULL), TSLAB_OK);
        totals_get(&now);
        CHECK(now.epoch_bytes == told);
    }
    CHECK(tslab_trim() < (size_t)100 * MEGABYTE); /* puts away what the thread keeps warm */
    totals_get(&now);
    CHECK(now.epoch_bytes == told);
}

/* The statistics of the process count what is in epochs. */
CASE(the_process_counts_epochs_too)
{
    struct total_figures before, during, after;
    tslab_free(tslab_malloc(1));
    totals_get(&before);
    const tslab_epoch epoch = opened();
    enter(epoch);
    for (size_t i = 0; i < 10000; i++) {
        (void)filled(epoch, 500, i);
    }
    leave(epoch);
    totals_get(&during);
    CHECK_SAY(during.committed_bytes - during.dirty_bytes - during.clean_bytes >= (size_t)10000 * 500,
              "%zu bytes are in use", during.committed_bytes - during.dirty_bytes - during.clean_bytes);
    STATUS(tslab_epoch_release(epoch, TSLAB_CLOSE_RECLAIM, NULL), TSLAB_OK);
    totals_get(&after);
    CHECK(after.live_objects == before.live_objects && after.live_bytes == before.live_bytes);
    CHECK(before.chunk_bytes == 0 && during.chunk_bytes > 0);
    CHECK_SAY(after.chunk_bytes <= CHUNK_BYTES, "%zu bytes of chunks are left", after.chunk_bytes); /* one is warm */
    CHECK(after.purged_bytes >= during.purged_bytes + (uint64_t)10000 * 500 / 100 * 99);
}

/* Objects that are freed before the next is allocated need one chunk, however long that goes on: the epoch does not
 * begin to keep slabs. */
CASE(an_empty_chunk_is_filled_anew)
{
    struct total_figures first, last;
    const tslab_epoch epoch = opened();
    enter(epoch);
    tslab_free(filled(epoch, 1000, 0));
    totals_get(&first);
    CHECK(first.chunk_bytes == CHUNK_BYTES);
    for (size_t i = 0; i < 50 * MEGABYTE / 1000; i++) {
        tslab_free(tslab_epoch_malloc(epoch, 1000));
    }
    totals_get(&last);
    CHECK_SAY(last.chunk_bytes == first.chunk_bytes, "%zu bytes of chunks", last.chunk_bytes);
    leave(epoch);
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
}

/* Others look on while epochs come and go. */

static atomic_bool done;

static void *look_on(void *unused)
{
    struct tslab_epoch_stats list[16];
    const int nowhere = open("/dev/null", O_WRONLY);
    CHECK(nowhere >= 0);
    for (size_t n = 0; !atomic_load(&done); n++) {
        const size_t count = tslab_epoch_list(list, COUNT_OF(list));
        for (size_t i = 0; i < count && i < COUNT_OF(list); i++) {
            struct tslab_epoch_stats again;
            const int status = tslab_epoch_stats_get(list[i].epoch, &again);
            CHECK(status == TSLAB_OK || status == TSLAB_STALE);
            CHECK(strncmp(list[i].label, "moving", 6) == 0);
            CHECK(list[i].live_objects <= 2000 && list[i].state <= TSLAB_EPOCH_DRAINING);
        }
        if (n % 10 == 0) {
            tslab_stats_print(nowhere);
            tslab_stats_json(nowhere);
        }
    }
    close(nowhere);
    return NULL;
}

static void *move(void *argument)
{
    uint64_t random = (uintptr_t)argument;
    for (size_t i = 0; i < times(20000); i++) {
        const tslab_epoch epoch = opened_as("moving", i % 2 == 0 ? TSLAB_POLICY_DRAIN : TSLAB_POLICY_RELEASE);
        void *objects[20];
        enter(epoch);
        for (size_t n = 0; n < COUNT_OF(objects); n++) {
            objects[n] = filled(epoch, some_size(&random), n);
        }
        if (i % 2 == 0) {
            for (size_t n = 1; n < COUNT_OF(objects); n++) {
                tslab_free(objects[n]);
            }
        }
        leave(epoch);
        STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
        if (i % 2 == 0) {
            tslab_free(objects[0]);
        }
    }
    return NULL;
}

CASE(one_may_look_at_any_time)
{
    pthread_t watcher;
    watcher = thread_begin(look_on, NULL);
    in_threads(2, move, (void *)1, 1);
    atomic_store(&done, true);
    (void)thread_end(watcher);
    CHECK(tslab_epoch_list(NULL, 0) == 0);
}

/* Each epoch here has a record and a table of handles, and all of them are found by a thread that looks. */
enum { GROWN = 300 };

static atomic_bool grown;

static void *look_at_all(void *unused)
{
    static struct tslab_epoch_stats list[2 * GROWN];
    size_t most = 0;
    while (!atomic_load(&grown)) {
        struct total_figures stats;
        totals_get(&stats);
        const size_t count = tslab_epoch_list(list, COUNT_OF(list));
        CHECK(count >= most && count <= COUNT_OF(list) && stats.epochs_open <= COUNT_OF(list));
        for (size_t i = 0; i < count; i++) {
            CHECK(list[i].state == TSLAB_EPOCH_OPEN);
        }
        most = count;
    }
    return NULL;
}

static void *grow(void *epochs)
{
    for (size_t i = 0; i < GROWN; i++) {
        const tslab_epoch epoch = opened();
        CHECK(tslab_handle_malloc(epoch, 100, NULL).id != 0);
        ((tslab_epoch *)epochs)[i] = epoch;
    }
    return NULL;
}

CASE(the_tables_grow_while_others_look)
{
    static tslab_epoch epochs[2][GROWN];
    const pthread_t watcher = thread_begin(look_at_all, NULL);
    in_threads(COUNT_OF(epochs), grow, epochs, sizeof epochs[0]);
    atomic_store(&grown, true);
    (void)thread_end(watcher);
    for (size_t i = 0; i < 2 * GROWN; i++) {
        ALIVE(epochs[i / GROWN][i % GROWN], 1);
        STATUS(tslab_epoch_release(epochs[i / GROWN][i % GROWN], 0, NULL), TSLAB_OK);
    }
    CHECK(tslab_epoch_list(NULL, 0) == 0);
}

/* Text and JSON. */

static void write_to_file(enum tslab_status (*writer)(int), char *name)
{
    const int descriptor = mkstemp(name);
    CHECK(descriptor >= 0);
    STATUS(writer(descriptor), TSLAB_OK);
    CHECK(lseek(descriptor, 0, SEEK_END) > 0);
    CHECK(close(descriptor) == 0);
}

/* The output of the child, which is python's complaint, goes to stderr, where the case fails for it. */
static void python(const char *const *arguments)
{
    pid_t pid;
    posix_spawn_file_actions_t actions;
    CHECK(posix_spawn_file_actions_init(&actions) == 0);
    CHECK(posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0) == 0);
    CHECK(posix_spawn(&pid, arguments[0], &actions, NULL, (char *const *)(uintptr_t)arguments, environ) == 0);
    CHECK(posix_spawn_file_actions_destroy(&actions) == 0);
    int status;
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK_SAY(status == 0, "%s %s: status %#x", arguments[0], arguments[2], (unsigned)status);
}

/* A thread knows what it did, and no more: the records of threads that are gone serve others. */

enum { OWN_OBJECTS = 5000 };

static struct thread_figures own_stats(void)
{
#define OWN_FIGURE(name, ...) .name = figure("thread." #name),
    return (struct thread_figures){ THREAD_FIGURES(OWN_FIGURE) };
}

static void count_own(void *unused)
{
    static _Thread_local void *objects[OWN_OBJECTS];
    const struct thread_figures before = own_stats();
    CHECK(before.thread == (uint64_t)gettid());
    CHECK_SAY(before.allocations < 10 && before.frees < 10, "a new thread has made %llu allocations",
              (unsigned long long)before.allocations);
    for (size_t i = 0; i < OWN_OBJECTS; i++) {
        objects[i] = tslab_malloc(48);
        CHECK(objects[i] != NULL);
    }
    struct thread_figures now = own_stats();
    CHECK(now.allocations == before.allocations + OWN_OBJECTS && now.frees == before.frees);
    CHECK(now.misses > before.misses && now.misses <= before.misses + OWN_OBJECTS);
    CHECK(TSLAB_CHECKED || (now.refills > before.refills && now.refills <= now.misses));
    for (size_t i = 0; i < OWN_OBJECTS; i++) {
        tslab_free(objects[i]);
    }
    now = own_stats();
    CHECK(now.allocations == before.allocations + OWN_OBJECTS && now.frees == before.frees + OWN_OBJECTS);
    CHECK(TSLAB_CHECKED || (now.cached_bytes >= 48 && before.refills + before.flushes < 10));
}

CASE(a_thread_counts_what_it_did)
{
    for (size_t i = 0; i < 3; i++) {
        struct helper helper;
        helper_start(&helper);
        helper_does(&helper, count_own, NULL);
        helper_ends(&helper);
    }
    struct helper helper;
    helper_start(&helper);
    helper_does(&helper, count_own, NULL);
    char json[] = "/tmp/tslab-json-XXXXXX", pid[16];
    write_to_file(tslab_stats_json, json);
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    python((const char *[]){ "/usr/bin/python3", "-c",
                             "import json, sys\n"
                             "threads = json.load(open(sys.argv[1], encoding='utf-8'))['threads']\n"
                             "assert len(threads) == 2, threads\n"
                             "assert [t['name'] for t in threads if t['thread'] == int(sys.argv[2])] != [], threads\n"
                             "assert all(t['name'] for t in threads), threads\n"
                             "other = [t for t in threads if t['thread'] != int(sys.argv[2])][0]\n"
                             "assert 5000 <= other['allocations'] < 5100 and other['misses'] > 0, threads\n",
                             json, pid, NULL });
    CHECK(unlink(json) == 0);
    helper_ends(&helper);
}

static struct class_figures class_of(size_t size)
{
    struct class_figures figures;
    uint64_t *number = (uint64_t *)(void *)&figures;
    static const char names[] = CLASS_FIGURES(FIGURE_NAME);
    for (const char *name = names; *name != 0; name += strlen(name) + 1) {
        char whole[64];
        snprintf(whole, sizeof whole, "class.%zu.%s", size, name);
        *number++ = figure(whole);
    }
    return figures;
}

/* Of each class, the reasons add up. */
CASE(misses_have_reasons)
{
    enum { OBJECTS = 20000, SIZE = 208 };
    static void *objects[OBJECTS];
    const struct class_figures before = class_of(SIZE);
    for (size_t round = 0; round < 5; round++) {
        for (size_t i = 0; i < OBJECTS; i++) {
            objects[i] = tslab_malloc(SIZE);
        }
        for (size_t i = 0; i < OBJECTS; i++) {
            tslab_free(objects[i]);
        }
    }
    const struct class_figures now = class_of(SIZE);
    /* The checked library has no magazines. */
    const uint64_t slow = now.refills + now.from_exchange + now.flushes + now.exchanged;
    CHECK(now.misses == slow || now.misses == now.allocations + now.frees);
    CHECK(now.misses > before.misses && now.misses <= now.allocations + now.frees);
    CHECK(now.slabs_new > before.slabs_new && now.slabs_new + now.slabs_attached <= now.allocations);
    /* Of what came again, the exchange gives each tray back. */
    CHECK(TSLAB_CHECKED || (now.exchanged > before.exchanged && now.from_exchange > before.from_exchange));
    CHECK(now.from_exchange <= now.exchanged);
}

/* Every figure has a name, and a name that is none changes nothing. */
CASE(figures_have_names)
{
    static const char *const wrong[] = { "",
                                         "live_object",
                                         "live_objects.",
                                         "class.64",
                                         "class.64.",
                                         "class.65.live",
                                         "class..live",
                                         "class.64x.live",
                                         "class.99999999999999999999.live",
                                         "account.live_slots",
                                         "account.live_slots.live",
                                         "account.nothing.bytes",
                                         "thread.nothing",
                                         "thread.1.misses",
                                         "process.rss",
                                         "label.plain",
                                         "label.plain.nothing",
                                         "label.1234567890123456789012345678901234567890.live_bytes",
                                         "process.x.rss_bytes" };
    uint64_t value = 4711;
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        CHECK_SAY(tslab_stat_get(wrong[i], &value) == TSLAB_INVALID && value == 4711, "'%s' is told", wrong[i]);
    }
    STATUS(tslab_stat_get(NULL, &value), TSLAB_INVALID);
    STATUS(tslab_stat_get("live_objects", NULL), TSLAB_INVALID);
    CHECK(value == 4711 && figure("label.a.b.epochs") == 0 && figure("label.a.b.limit_bytes") == 0);
    const tslab_epoch epoch = opened_as("a.b", TSLAB_POLICY_DRAIN);
    (void)filled(epoch, 100, 0);
    const struct tslab_epoch_stats stats = stats_of(epoch);
    CHECK(figure("label.a.b.epochs") == 1 && figure("label.a.b.open") == 1 && figure("label.a.b.draining") == 0);
    CHECK(figure("label.a.b.live_bytes") == stats.live_bytes && figure("label.a.b.live_objects") == 1);
    CHECK(tslab_option_set("epoch_limits", "a.b=1M") == TSLAB_OK && figure("label.a.b.limit_bytes") == MEGABYTE);
    const uint64_t rss = figure("process.rss_bytes");
    CHECK(rss > 0 && figure("process.peak_rss_bytes") >= rss);
    CHECK(figure("process.live") > 0 && figure("epochs_open") == 1);
    CHECK(figure("account.live_chunks.bytes") > 0 && figure("account.committed.bytes") >= figure("committed_bytes"));
    STATUS(tslab_epoch_release(epoch, 0, NULL), TSLAB_OK);
    CHECK(figure("label.a.b.epochs") == 0);
}

/* Thousands of forgotten epochs are a few groups, by label, those with the most memory first. Other labels are told
 * together, also those of which there are more than can be told apart. */
CASE(thousands_are_told_by_label)
{
    enum { KINDS = 1000, LARGE = 30, EACH = 100 };
    for (size_t kind = 0; kind < KINDS; kind++) {
        char label[32];
        snprintf(label, sizeof label, "\\\t\"kind %02zu.", kind);
        for (size_t i = 0; i < (kind < LARGE ? EACH + kind : 1); i++) {
            (void)filled(opened_as(label, TSLAB_POLICY_DRAIN), 100, i);
        }
    }
    char json[] = "/tmp/tslab-json-XXXXXX";
    write_to_file(tslab_stats_json, json);
    python(
        (const char *[]){ "/usr/bin/python3", "-c",
                          "import json, sys\n"
                          "data = json.load(open(sys.argv[1], encoding='utf-8'))\n"
                          "labels = data['labels']\n"
                          "assert len(labels) == 21, labels\n"
                          "for n, group in enumerate(labels[:20]):\n"
                          "    kind = 29 - n\n"
                          "    assert group['label'] == f'\\\\\\t\"kind {kind:02}.' and group['labels'] == 1, group\n"
                          "    assert group['epochs'] == group['open'] == 100 + kind, group\n"
                          "    assert group['live_objects'] == 100 + kind, group\n"
                          "assert labels[20]['labels'] >= 236 and labels[20]['label'] == '', labels[20]\n"
                          "assert sum(g['epochs'] for g in labels) == len(data['epochs']) == 4405\n"
                          "for member in 'live_objects', 'live_bytes', 'memory_bytes':\n"
                          "    assert sum(g[member] for g in labels) == sum(e[member] for e in data['epochs'])\n",
                          json, NULL });
    CHECK(unlink(json) == 0);
}

CASE(writing_does_not_allocate)
{
    (void)filled(opened_as("plain", TSLAB_POLICY_DRAIN), 100, 1);
    struct total_figures before, after;
    const int nowhere = open("/dev/null", O_WRONLY);
    /* The first time, counters that threads keep for themselves may come to light. */
    for (int i = 0; i < 2; i++) {
        totals_get(&before);
        STATUS(tslab_stats_print(nowhere), TSLAB_OK);
        STATUS(tslab_stats_json(nowhere), TSLAB_OK);
        totals_get(&after);
    }
    CHECK(after.allocations == before.allocations && after.committed_bytes == before.committed_bytes);
    CHECK(close(nowhere) == 0);
    /* A descriptor that takes nothing is told. */
    const int full = open("/dev/full", O_WRONLY);
    CHECK(full >= 0);
    STATUS(tslab_stats_json(full), TSLAB_INVALID);
    STATUS(tslab_stats_print(full), TSLAB_INVALID);
    CHECK(close(full) == 0);
    STATUS(tslab_stats_json(-1), TSLAB_INVALID);
    STATUS(tslab_stats_print(-1), TSLAB_INVALID);
}
