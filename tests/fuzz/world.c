/* Runs a case: the lanes, their turns, what is done for each record, and forks. */
#include "world.h"

#include "model.h"
#include "names.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#if !FUZZ_DROPIN
#include "common/option.h"
#include "os/os.h"
#include "thread/keeper.h"
#include "verify.h"
#endif

enum { LAWS_EVERY = 1024, PATIENCE_SECONDS = 60, SMALL_ARENA_BYTES = 256 << 20 };

static const uint8_t *records;
static size_t record_count;
static size_t next_record;

static sem_t turns[LANES];
static sem_t over;
static pthread_t threads[LANES];
static bool runs[LANES];    /* there is a thread */
static bool is_over[LANES]; /* it is to end when its turn comes */
static bool forked;         /* this is a child, which has one lane */

/* The clock, and the options. Those that the library reads once come from the environment. */

static uint64_t clock_ms;

uint64_t world_now_ms(void)
{
    return clock_ms;
}

/* The supervisor has put the settings into the environment. Where one process does all cases, as with libFuzzer, those
 * that can change later are set here, and the others are what they are. */
static void set_up(const uint8_t *record)
{
    const struct settings settings = settings_of(record);
    world.objects_most = settings.objects_most;
    world.bytes_most = 24 << 20;
    world.mode = settings.mode;
    world.mode_number = settings.mode_number;
    const char *const bytes = getenv("TSLAB_ARENA_BYTES");
    if (bytes != NULL && strtoull(bytes, NULL, 10) < SMALL_ARENA_BYTES) {
        world.small_arena = true;
        world.bytes_most = 16 << 20;
    }
#if !FUZZ_DROPIN
    static const enum work_policy policies[MODES] = { WORK_NEVER, WORK_PER_REQUEST, WORK_BATCH, WORK_INTERVAL,
                                                      WORK_MANUAL };
    if (getenv("FUZZ_CASE") == NULL) {
        option_values[OPTION_KEEPER] = 0; /* a case is the same each time that it is run */
        option_values[OPTION_RETAIN_BYTES] = settings.retain_bytes;
        option_values[OPTION_PURGE_DELAY_MS] = settings.purge_delay_ms;
        option_values[OPTION_EPOCH_POLICY] = settings.mode_number << CHOICE_SHIFT | policies[settings.mode];
    }
    CHECK(option_choice(OPTION_EPOCH_POLICY) == policies[settings.mode]);
    clock_ms += 1000000;
    os_calls.now_ms = world_now_ms;
#endif
    world.may_refuse = world.small_arena;
}

/* Whether plain malloc follows the scopes depends on how the program is linked. */
static void find_out_where_malloc_lands(void)
{
    const tslab_epoch epoch = tslab_epoch_open(NULL);
    CHECK(epoch.id != 0);
    world.lands = tslab_epoch_enter(epoch);
    CHECK(world.lands == TSLAB_OK || (!FUZZ_DROPIN && world.lands == TSLAB_EXPLICIT));
    STATUS(tslab_epoch_leave(epoch), TSLAB_OK);
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
}

/* Turns. */

static void do_records(void);

static void *lane_body(void *argument)
{
    const size_t me = (size_t)argument;
    CHECK(sem_wait(&turns[me]) == 0);
    /* A thread that has no record yet is refused more than the model follows: it gets one. */
    shortage_waits(true);
    tslab_free(tslab_malloc(1));
    shortage_waits(false);
    while (!is_over[me]) {
        do_records();
        CHECK(sem_post(world.here == NOBODY ? &over : &turns[world.here]) == 0);
        while (sem_wait(&turns[me]) != 0) {
        }
    }
    return NULL;
}

static void lane_begin(size_t lane)
{
    if (!runs[lane]) {
        is_over[lane] = false;
        CHECK(sem_init(&turns[lane], 0, 0) == 0);
        CHECK(pthread_create(&threads[lane], NULL, lane_body, (void *)lane) == 0);
        runs[lane] = true;
    }
}

/* Memory that libc allocates for a thread must not land in an epoch. */
static void switch_lane(const struct operation *operation)
{
    const size_t lane = operation->place % LANES;
    if (forked || lane == world.here) {
        return;
    }
    tslab_work_pause();
    lane_begin(lane);
    STATUS(tslab_work_resume(), TSLAB_OK);
    world.here = (unsigned)lane;
}

/* A scope that is left here is entered there. */
static void hand_over(const struct operation *operation)
{
    const size_t lane = operation->place % LANES;
    if (!forked && lane != world.here) {
        world.handed = epoch_leave_to_hand_over();
        switch_lane(operation);
    }
}

/* The thread of another lane ends, with all that it has. */
static void lane_end(size_t lane)
{
    lane_before_end((unsigned)lane);
    is_over[lane] = true;
    CHECK(sem_post(&turns[lane]) == 0);
    CHECK(pthread_join(threads[lane], NULL) == 0);
    runs[lane] = false;
    lane_after_end((unsigned)lane);
}

static void end_thread(const struct operation *operation)
{
    const size_t lane = operation->place % LANES;
    if (!forked && lane != world.here && runs[lane]) {
        tslab_work_pause();
        lane_end(lane);
        STATUS(tslab_work_resume(), TSLAB_OK);
    }
}

/* The rare ones. */

/* One lane runs at a time, so nothing is in motion between two operations. */
static void check_laws(void)
{
#if !FUZZ_DROPIN && !TSLAB_TSAN
    CHECK(verify_whole() == 0);
    verify_accounts();
#endif
}

static void check_everything(void)
{
    models_check();
    check_laws();
}

static void check_all(const struct operation *operation)
{
    check_everything();
}

static void pass_time(const struct operation *operation)
{
    clock_ms += clock_ms == 0 ? 0 : operation->way == 0 ? operation->value % 4000000 : operation->value % 30;
}

static void trim(const struct operation *operation)
{
#if !FUZZ_DROPIN
    if (operation->way == 3) {
        (void)keeper_look(operation->value % 2 == 0);
        return;
    }
#endif
    if (operation->way == 5) {
        struct tslab_limits found;
        const struct tslab_limits set = { .soft_bytes = operation->value % 4 * (operation->value << 12) };
        CHECK(tslab_limits_set(&set) == TSLAB_OK);
        char value[24];
        CHECK(tslab_option_get("retain_bytes", value, sizeof value) == TSLAB_OK);
        CHECK(tslab_option_set("retain_bytes", value) == TSLAB_OK);
        uint64_t own;
        CHECK(tslab_stat_get("thread.misses", &own) == TSLAB_OK || world.may_refuse);
        CHECK(tslab_limits_get(&found) != 0 && found.soft_bytes == set.soft_bytes && found.hard_bytes == 0);
        return;
    }
    if (operation->way < 4) {
        (void)tslab_trim();
    } else {
        const int trimmed = NAME(malloc_trim)(operation->value);
        CHECK(trimmed == 0 || trimmed == 1);
    }
}

static void nothing_is_left(void)
{
    shortage_ends();
    (void)tslab_trim();
    struct tslab_stats stats;
    tslab_stats_get(&stats);
    CHECK(stats.epochs_open == 0 && stats.epochs_draining == 0);
    /* Where malloc is the library's, libc's objects live, too. */
    CHECK_SAY(FUZZ_DROPIN || (stats.live_objects == 0 && stats.live_bytes == 0 && stats.slab_bytes == 0 &&
                              stats.large_bytes == 0 && stats.cached_bytes == 0 && stats.chunk_bytes == 0 &&
                              stats.dirty_bytes == 0),
              "at the end there are %zu objects of %zu bytes, %zu bytes of slabs, %zu of large runs, %zu cached, "
              "%zu of chunks, %zu dirty",
              stats.live_objects, stats.live_bytes, stats.slab_bytes, stats.large_bytes, stats.cached_bytes,
              stats.chunk_bytes, stats.dirty_bytes);
}

/* The other lanes' threads do not exist in the child. Their scopes are left. It goes on for a while, then ends
 * everything. */
static _Noreturn void be_the_child(const struct operation *operation)
{
    signal(SIGALRM, SIG_DFL);
    alarm(PATIENCE_SECONDS);
    forked = true;
    lanes_vanish();
    check_everything();
    record_count =
        next_record + operation->index % 64 < record_count ? next_record + operation->index % 64 : record_count;
    do_records();
    shortage_ends();
    everything_ends();
    nothing_is_left();
    _exit(0);
}

bool fork_is_worth_it(const struct operation *operation)
{
    const bool is_cheap = objects.bytes < 1 << 20 || operation->index % 64 == 0;
    return !forked && FUZZ_FORKS && is_cheap;
}

static void fork_one(const struct operation *operation)
{
    if (!fork_is_worth_it(operation)) {
        return;
    }
    const uint64_t number = progress->operation;
    objects_check(); /* what is lost with the threads that the child does not have can be checked only now */
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        be_the_child(operation);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    progress->operation = number;
    CHECK_SAY(status == 0, "the child of a fork ended with status %#x", (unsigned)status);
}

static void do_one(const struct operation *operation)
{
    static void (*const table[KINDS])(const struct operation *) = {
        [ALLOCATE] = allocate_plain,
        [ALLOCATE_BY_LIBC] = allocate_by_libc,
        [ALLOCATE_IN_EPOCH] = allocate_in_epoch,
        [ALLOCATE_WITH_HANDLE] = allocate_with_handle,
        [FREE] = free_one,
        [RESIZE] = resize_one,
        [LOOK] = look_at_one,
        [LOOK_AT_EPOCH] = model_check_one,
        [OPEN] = epoch_open_one,
        [ENTER] = epoch_enter_one,
        [LEAVE] = epoch_leave_one,
        [CLOSE] = epoch_close_one,
        [RELEASE] = epoch_release_one,
        [ADVANCE] = epoch_advance_one,
        [TRY_STALE] = try_stale,
        [TRY_INVALID] = try_invalid,
        [BEGIN] = unit_begin,
        [END] = unit_end,
        [PAUSE] = unit_pause,
        [RESUME] = unit_resume,
        [SWITCH] = switch_lane,
        [ALLOCATE_MANY] = allocate_many,
        [FREE_MANY] = free_many,
        [CHECK_ALL] = check_all,
        [PASS_TIME] = pass_time,
        [TRIM] = trim,
        [REPORT_STATISTICS] = report_one,
        [ROTATE] = units_rotate,
        [CLOSE_INSTANCE] = instance_close_one,
        [END_THREAD] = end_thread,
        [GROW_OLD] = grow_old,
        [FORK] = fork_one,
        [HAND_OVER] = hand_over,
        [BY_HAND] = by_hand_one,
        [SHORTEN] = shorten_one,
        [MISUSE] = misuse_one,
    };
    world.may_refuse = world.small_arena || shortage_lasts();
    table[operation->kind](operation);
}

/* Goes on until the lane hands over to another, or to who watches. */
static void do_records(void)
{
    const unsigned me = world.here;
    world.may_refuse = world.small_arena || shortage_lasts();
    epoch_enter_handed();
    while (world.here == me) {
        if (next_record == record_count) {
            if (!forked) {
                world.here = NOBODY;
            }
            return;
        }
        progress->operation = next_record;
        const struct operation operation = operation_decode(records + next_record++ * RECORD_BYTES);
        do_one(&operation);
#if !FUZZ_DROPIN
        scribble_all();
#endif
        if (next_record % LAWS_EVERY == 0) {
            check_laws();
        }
    }
}

void world_run(const uint8_t *given, size_t bytes)
{
    records = given;
    record_count = bytes / RECORD_BYTES;
    if (record_count == 0) {
        return;
    }
    memset(&world, 0, sizeof world);
    world.here = NOBODY;
    set_up(records);
    find_out_where_malloc_lands();
    next_record = 1;
    for (unsigned i = 0; i < INSTANCES; i++) {
        instance_open_one(i);
    }
    CHECK(sem_init(&over, 0, 0) == 0);
    lane_begin(0);
    world.here = 0;
    CHECK(sem_post(&turns[0]) == 0);
    while (sem_wait(&over) != 0) {
    }
    progress->operation = record_count;
    shortage_ends();
    for (size_t lane = 0; lane < LANES; lane++) {
        if (runs[lane]) {
            lane_end(lane);
        }
    }
    check_everything();
    everything_ends();
    nothing_is_left();
}
