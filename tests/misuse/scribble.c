/* What users write into freed memory changes nothing that the engine does: no address is handed out but a fresh,
 * aligned place inside of the arena, objects that live keep their contents, and calloc returns zeros.
 *
 *   scribble keep|purge FIRST_SEED SEEDS OPERATIONS
 *
 * Several threads allocate, resize and free at random, in the process and in epochs, by the operations of one random
 * sequence: a seed says which thread does what and when, and what time it is. Every object is overwritten as soon as it
 * is free, before anybody allocates again: with random bytes, with addresses of objects, free slots and records, with
 * zeros. A seed is a process of its own, so a failure comes again.
 *
 * With keep, no page of a freed run goes back to the system. So what was freed a while ago is overwritten, too, as long
 * as no object lives there.
 *
 * With purge, memory is trimmed, and purged at once. What is written to a page that went back is the program's own
 * fault, so only memory is overwritten that the arena's tables do not call clean. */
#include "check.h"

#include "common/option.h"
#include "malloc/current_thread.h"
#include "os/os.h"
#include "space/arena.h"
#include "thread/tray.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <tslab/tslab.h>

enum {
    THREADS = 4,
    TURN_MOST = 48, /* operations of a thread before another's turn comes */
    OBJECTS = 20000,
    FREED = 8192, /* places that are remembered */
    LARGE_MOST = 256 * 1024,
    LIVE_BYTES = 48 << 20,
    OLD_OBJECTS = 200, /* which make an epoch so old that slabs take over from chunks */
    OLD_BYTES = 16000,
    CLOCK_MS = 3000 * 1000, /* that pass in a run: less than pages may be made to wait */
};
static const size_t SHADOW_BYTES = (size_t)4 << 30; /* of the arena that the shadow covers */

static uint64_t state;
static bool keeps;
static size_t operation, operations;

#define HOLDS(condition, ...)                                                                                          \
    ((condition) ? (void)0 : (fprintf(stderr, "operation %zu: ", operation), CHECK_SAY(false, __VA_ARGS__)))

static size_t below(size_t limit)
{
    return random_next(&state) % limit;
}

/* The shadow: what lives, by object and by granule. */

struct object {
    char *start;
    size_t size, usable;
    uint64_t seed;       /* of the pattern in all that is usable */
    uint64_t epoch;      /* the value of the epoch that it was allocated in; 0: the process */
    tslab_handle handle; /* 0: none */
};

static struct object objects[OBJECTS];
static size_t object_count, live_bytes;
static uint64_t *granules; /* a bit for each granule of the arena: an object lives there */
static struct {
    char *start;
    size_t bytes;
} freed[FREED];
static size_t freed_count;

static size_t granule_of(const char *p)
{
    return ((uintptr_t)p - arena.base) / GRANULE_BYTES;
}

static bool granule_lives(size_t granule)
{
    return (granules[granule / 64] >> granule % 64 & 1) != 0;
}

/* Calls the granules of a place alive, or free. They were the opposite. */
static void granules_set(const char *start, size_t bytes, bool alive)
{
    size_t granule = granule_of(start);
    const size_t end = granule + (bytes + GRANULE_BYTES - 1) / GRANULE_BYTES;
    while (granule < end) {
        const size_t first = granule % 64;
        const size_t n = end - granule < 64 - first ? end - granule : 64 - first;
        const uint64_t mask = UINT64_MAX >> (64 - n) << first;
        uint64_t *const word = &granules[granule / 64];
        HOLDS((*word & mask) == (alive ? 0 : mask), "%p, of %zu bytes, overlaps an object", (const void *)start, bytes);
        *word ^= mask;
        granule += n;
    }
}

/* An object was handed out at p: enters it and fills it. */
static struct object *born(void *p, size_t size, size_t alignment, bool zeroed)
{
    HOLDS(p != NULL, "%zu bytes were refused", size);
    const uintptr_t at = (uintptr_t)p;
    const size_t end = load_plain(&arena.committed_units) << UNIT_SHIFT;
    HOLDS(at % alignment == 0 && at % GRANULE_BYTES == 0, "%p, of %zu bytes, is not aligned to %zu", p, size,
          alignment);
    HOLDS(at >= arena.base + UNIT_BYTES && at - arena.base < end, "%p is outside of the arena", p);
    HOLDS(end <= SHADOW_BYTES, "the arena has grown to %zu bytes", end);
    granules_set(p, GRANULE_BYTES, true); /* no question about a place that lives */
    granules_set(p, GRANULE_BYTES, false);
    const size_t usable = tslab_usable_size(p);
    HOLDS(usable >= size && at - arena.base + usable <= end, "%p has %zu bytes, not %zu", p, usable, size);
    granules_set(p, usable, true);
    HOLDS(!zeroed || all_zero(p, size), "calloc: the %zu bytes at %p are not zero", size, p);
    HOLDS(object_count < OBJECTS, "too many objects");
    struct object *const object = &objects[object_count++];
    *object = (struct object){ .start = p, .size = size, .usable = usable, .seed = random_next(&state) };
    pattern_fill(p, usable, object->seed);
    live_bytes += usable;
    return object;
}

static void check_contents(const struct object *object, size_t bytes)
{
    HOLDS(pattern_holds(object->start, bytes, object->seed), "the object at %p, of %zu bytes, has changed",
          (void *)object->start, object->usable);
}

/* Forgets an object, whose place is free now. */
static void died(struct object *object)
{
    granules_set(object->start, object->usable, false);
    live_bytes -= object->usable;
    freed[freed_count++ % FREED].start = object->start;
    freed[(freed_count - 1) % FREED].bytes = object->usable;
    *object = objects[--object_count];
}

/* Writing into freed memory. */

static uint64_t address_of_interest(void)
{
    switch (below(6)) {
    case 0:
        return object_count == 0 ? 0 : (uintptr_t)objects[below(object_count)].start;
    case 1:
        return freed_count == 0 ? 0 : (uintptr_t)freed[below(freed_count < FREED ? freed_count : FREED)].start;
    case 2:
        return arena.base + below(load_plain(&arena.committed_units)) * UNIT_BYTES;
    case 3:
        return (uintptr_t)front_current + below(4096);
    case 4:
        return (uintptr_t)magazine_places(&front_current->magazine[below(CLASS_LIMIT)]);
    default:
        return arena.base + below(load_plain(&arena.committed_units) * UNIT_BYTES) / GRANULE_BYTES * GRANULE_BYTES;
    }
}

/* Whether a program may write there without undoing what the system did: the unit is part of a slab or a chunk, or of a
 * run that is known to have old contents. */
static bool has_old_contents(const char *p)
{
    const size_t unit = arena_unit(p);
    const uint32_t tag = load_plain(&arena.units[unit].tag);
    if (tag == TAG_CHUNK || tag_class(tag) != CLASS_NONE) {
        return true;
    }
    size_t first = 1; /* the runs lie side by side; the units inside of an empty one do not name it */
    while (first + arena.runs[first].units <= unit) {
        first += arena.runs[first].units;
    }
    return tag == TAG_NONE && arena.runs[first].kind == RUN_DIRTY;
}

static void scribble(char *start, size_t bytes)
{
    const size_t how = below(5);
    for (size_t at = 0; at + GRANULE_BYTES <= bytes; at += GRANULE_BYTES) {
        if (granule_lives(granule_of(start + at)) ||
            (!keeps && (at == 0 || (uintptr_t)(start + at) % UNIT_BYTES == 0) && !has_old_contents(start + at))) {
            return;
        }
        uint64_t words[2];
        for (int i = 0; i < 2; i++) {
            words[i] = how == 0 ? 0 : how == 1 ? UINT64_MAX : how == 2 ? random_next(&state) : address_of_interest();
        }
        memcpy(start + at, words, sizeof words);
    }
}

/* Something that was freed a while ago, as far as nobody has it now. */
static void scribble_late(void)
{
    if (keeps && freed_count != 0) {
        const size_t i = below(freed_count < FREED ? freed_count : FREED);
        scribble(freed[i].start, freed[i].bytes);
    }
}

/* What the threads do. */

struct actor {
    tslab_epoch epoch; /* that it is inside of; 0: none */
    bool releases;     /* the close ends what lives there */
};

static struct actor actors[THREADS];

static size_t some_size(void)
{
    switch (below(20)) {
    case 0:
        return below(40000);
    case 1:
        return below(8) == 0 ? below(LARGE_MOST) : below(100000);
    case 2:
    case 3:
    case 4:
        return below(5000);
    default:
        return below(600);
    }
}

static void allocate(const struct actor *actor, size_t size)
{
    struct object *object;
    const size_t alignment = (size_t)GRANULE_BYTES << below(11);
    tslab_handle handle = { 0 };
    void *p;
    switch (below(8)) {
    case 0:
    case 1:
        object = born(tslab_calloc(1, size), size, GRANULE_BYTES, true);
        break;
    case 2:
        object = born(tslab_aligned_alloc(alignment, size), size, alignment, false);
        break;
    case 3:
        if (actor->epoch.id != 0 && size < 30000) {
            handle = tslab_handle_malloc(actor->epoch, size, &p);
            HOLDS(handle.id != 0, "a handle for %zu bytes was refused", size);
            object = born(p, size, GRANULE_BYTES, false);
            break;
        }
        /* fallthrough */
    default:
        object = born(tslab_malloc(size), size, GRANULE_BYTES, false);
    }
    object->epoch = actor->epoch.id;
    object->handle = handle;
    HOLDS(handle.id != 0 || tslab_epoch_of(object->start).id == actor->epoch.id, "%p is in another epoch",
          (void *)object->start);
}

static void end_object(size_t i)
{
    const struct object object = objects[i];
    check_contents(&object, object.usable);
    if (object.handle.id != 0) {
        const tslab_epoch epoch = { object.epoch };
        HOLDS(tslab_handle_get(epoch, object.handle) == object.start, "a handle names another object");
        HOLDS(tslab_handle_free(epoch, object.handle) == TSLAB_OK, "a handle was refused");
    } else {
        tslab_free(object.start);
    }
    died(&objects[i]);
    scribble(object.start, object.usable);
}

static void resize(size_t i, size_t size)
{
    const struct object old = objects[i];
    if (old.handle.id != 0) {
        return;
    }
    check_contents(&old, old.usable);
    char *const p = tslab_realloc(old.start, size + (size == 0));
    HOLDS(p != NULL, "a resize to %zu bytes was refused", size);
    const size_t kept = old.usable < size ? old.usable : size;
    HOLDS(pattern_holds(p, kept, old.seed), "a resize from %zu to %zu bytes has lost contents", old.usable, size);
    died(&objects[i]);
    born(p, size, 1, false)->epoch = tslab_epoch_of(p).id; /* if its own was closed, where malloc lands */
    if (p != old.start) {
        scribble(old.start, old.usable);
    }
}

static void begin_epoch(struct actor *actor)
{
    actor->releases = below(2) == 0;
    const struct tslab_epoch_options options = { .policy = actor->releases ? TSLAB_POLICY_RELEASE : TSLAB_POLICY_DRAIN,
                                                 .flags = TSLAB_OPEN_VOUCHED };
    actor->epoch = tslab_epoch_open(&options);
    HOLDS(actor->epoch.id != 0 && tslab_epoch_enter(actor->epoch) >= 0, "no epoch");
    if (below(4) == 0) {
        const size_t first = object_count;
        for (int i = 0; i < OLD_OBJECTS; i++) {
            born(tslab_malloc(OLD_BYTES), OLD_BYTES, GRANULE_BYTES, false)->epoch = actor->epoch.id;
        }
        while (object_count > first) {
            end_object(object_count - 1);
        }
    }
}

/* Objects that outlive their epoch's close are whole after it; others are free. */
static void check_objects_of(tslab_epoch epoch)
{
    for (size_t i = 0; i < object_count; i++) {
        if (objects[i].epoch == epoch.id) {
            check_contents(&objects[i], objects[i].usable);
        }
    }
}

static void end_epoch(struct actor *actor)
{
    const tslab_epoch epoch = actor->epoch;
    for (size_t i = object_count; i-- > 0;) {
        if (objects[i].epoch == epoch.id && objects[i].handle.id != 0) {
            end_object(i);
        }
    }
    check_objects_of(epoch);
    HOLDS(tslab_epoch_leave(epoch) == TSLAB_OK && tslab_epoch_close(epoch, 0, NULL) == TSLAB_OK, "no close");
    actor->epoch.id = 0;
    if (!actor->releases) {
        check_objects_of(epoch);
        return;
    }
    for (size_t i = object_count; i-- > 0;) {
        if (objects[i].epoch == epoch.id) {
            const struct object object = objects[i];
            died(&objects[i]);
            scribble(object.start, object.usable);
        }
    }
}

static void operate(struct actor *actor)
{
    const size_t what = below(1000);
    const bool is_full = object_count > OBJECTS - 2 * OLD_OBJECTS || live_bytes > LIVE_BYTES;
    if (what < 4) {
        actor->epoch.id == 0 ? begin_epoch(actor) : end_epoch(actor);
    } else if (what == 5) {
        /* Many of one size, in and out: magazines overflow, stocks fill. */
        const size_t first = object_count, size = below(3000);
        for (size_t n = below(600); n > 0 && object_count < OBJECTS - OLD_OBJECTS; n--) {
            allocate(actor, size);
        }
        while (object_count > first) {
            end_object(first + below(object_count - first));
        }
    } else if (what == 6 && !keeps) {
        (void)tslab_trim();
    } else if (what < 100) {
        scribble_late();
    } else if (what < 200 && object_count != 0) {
        resize(below(object_count), below(3) == 0 ? some_size() : below(300));
    } else if (object_count != 0 && (is_full || below(object_count + 3000) >= 3000 || below(3) == 0)) {
        end_object(below(object_count));
    } else {
        allocate(actor, some_size());
    }
}

/* One thread at a time has its turn. */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int turn;     /* whose; THREADS: the main thread's */
    size_t count; /* operations in it; 0: the thread ends */
} baton = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, THREADS, 0 };

static void pass_to(int turn, size_t count)
{
    baton.turn = turn;
    baton.count = count;
    pthread_cond_broadcast(&baton.changed);
}

static void await(int turn)
{
    while (baton.turn != turn) {
        pthread_cond_wait(&baton.changed, &baton.lock);
    }
}

static void *act(void *argument)
{
    const int self = (int)(intptr_t)argument;
    pthread_mutex_lock(&baton.lock);
    for (await(self); baton.count != 0; await(self)) {
        for (; baton.count > 0; baton.count--) {
            operate(&actors[self]);
            operation++;
        }
        pass_to(THREADS, 0);
    }
    if (actors[self].epoch.id != 0) {
        end_epoch(&actors[self]);
    }
    pthread_mutex_unlock(&baton.lock);
    return NULL;
}

static uint64_t clock_ms = 1;

static uint64_t tell_time(void)
{
    return clock_ms;
}

static void start_thread(pthread_t *threads, int i)
{
    CHECK(pthread_create(&threads[i], NULL, act, (void *)(intptr_t)i) == 0);
}

static void end_thread(pthread_t *threads, int i)
{
    pass_to(i, 0);
    pthread_mutex_unlock(&baton.lock);
    CHECK(pthread_join(threads[i], NULL) == 0);
    pthread_mutex_lock(&baton.lock);
}

static void run(uint64_t seed)
{
    alarm(operations < 1000000 ? HANG_SECONDS : 0);
    state = seed * 0x9e3779b97f4a7c15u + 1;
    granules = mmap(NULL, SHADOW_BYTES / GRANULE_BYTES / 8, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(granules != MAP_FAILED);
    tslab_free(keep(tslab_malloc(1)));
    os_calls.now_ms = tell_time;
    option_values[OPTION_RETAIN_BYTES] = keeps ? TIB : 0;
    option_values[OPTION_PURGE_DELAY_MS] = keeps ? 3600 * 1000 : 0;
    const uint64_t step_ms = 2 * (uint64_t)CLOCK_MS / (operations * 2 / TURN_MOST + 1);
    pthread_t threads[THREADS];
    pthread_mutex_lock(&baton.lock);
    for (int i = 0; i < THREADS; i++) {
        start_thread(threads, i);
    }
    while (operation < operations) {
        const int i = (int)below(THREADS);
        if (below(400) == 0) {
            end_thread(threads, i);
            start_thread(threads, i);
        }
        clock_ms += below(step_ms + 1);
        pass_to(i, 1 + below(TURN_MOST));
        await(THREADS);
    }
    for (int i = 0; i < THREADS; i++) {
        end_thread(threads, i);
    }
    pthread_mutex_unlock(&baton.lock);
    while (object_count != 0) {
        end_object(object_count - 1);
    }
    struct tslab_stats stats;
    (void)tslab_trim();
    tslab_stats_get(&stats);
    CHECK_SAY(stats.cached_bytes == 0 && stats.slab_bytes == 0 && stats.large_bytes == 0 && stats.epochs_draining == 0,
              "%zu cached bytes, %zu of slabs, %zu large ones are left", stats.cached_bytes, stats.slab_bytes,
              stats.large_bytes);
}

int main(int argc, char **argv)
{
    CHECK_SAY(argc == 5, "usage: scribble keep|purge FIRST_SEED SEEDS OPERATIONS");
    keeps = strcmp(argv[1], "keep") == 0;
    CHECK_SAY(keeps || strcmp(argv[1], "purge") == 0, "there is no way to %s", argv[1]);
    operations = check_count(argv[4]);
    const uint64_t first = strtoull(argv[2], NULL, 10), count = check_count(argv[3]);
    for (uint64_t seed = first; seed < first + count; seed++) {
        const pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            run(seed);
            _exit(0);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child);
        CHECK_SAY(status == 0, "seed %llu: status %#x", (unsigned long long)seed, status);
    }
    return 0;
}
