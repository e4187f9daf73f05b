/* Samples: how many there are and what they stand for, which of them live, and what is charged to them. Every scenario
 * is a process of its own, with a generator that starts with the same number each time. */
#include "child.h"
#include "faults.h"

#include "common/metadata.h"
#include "common/random.h"
#include "malloc/current_thread.h"
#include "report/profile.h"
#include "report/statistics.h"
#include "slab/chunk.h"
#include "thread/sampling.h"

#include <math.h>
#include <pthread.h>
#include <tslab/tslab.h>

enum { MANY = 200000, PERIOD = 4096 };
static void *objects[MANY];

static void start(uint64_t period)
{
    store_plain(&samples.seed, 7);
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)period);
    CHECK(tslab_option_set("profile", text) == TSLAB_OK);
}

static double weight_of(uint64_t bytes, uint64_t period)
{
    return (double)random_weight(bytes, period) / WEIGHT_ONE;
}

/* The bytes that the samples of living objects stand for, of objects of at least this size. */
struct estimate {
    double objects, bytes;
    unsigned samples;
};

static struct estimate living(size_t from, size_t to)
{
    struct estimate sum = { 0 };
    for (uint32_t number = 1; number <= load_plain(&samples.highest); number++) {
        struct sample sample;
        uint64_t bytes;
        if (profile_live(number, &sample, &bytes) && bytes >= from && bytes < to) {
            const double weight = (double)sample.weight / WEIGHT_ONE;
            sum.objects += weight;
            sum.bytes += weight * (double)bytes;
            sum.samples++;
        }
    }
    return sum;
}

static struct estimate all_living(void)
{
    return living(0, SIZE_MAX);
}

/* All stacks: what was allocated. */
static struct stack_sums allocated(void)
{
    struct stack_sums sum = { 0 };
    for (uint32_t number = 1; number <= load_plain(&samples.stacks); number++) {
        struct stack_sums of;
        (void)samples_stack(number, &of);
        sum.objects += of.objects;
        sum.bytes += of.bytes;
        sum.peak_bytes += of.peak_bytes;
    }
    return sum;
}

/* Of n objects that are each sampled with the probability 1 / weight, the estimate is within five standard deviations.
 */
static void is_near(double found, double n, double weight, const char *what)
{
    const double sigma = sqrt(n * (weight - 1)) + 1e-9;
    CHECK_SAY(fabs(found - n) <= 5 * sigma + n * 1e-5, "%s: %.0f of %.0f, and sigma is %.0f", what, found, n, sigma);
}

IN_A_CHILD(draws_are_exponential)
{
    uint64_t state = 3;
    for (uint64_t bytes = 16; bytes <= (uint64_t)1 << 22; bytes *= 4) {
        enum { DRAWS = 100000 };
        const uint64_t period = 1 << 19;
        double sum = 0, sampled = 0;
        for (unsigned i = 0; i < DRAWS; i++) {
            const uint64_t distance = random_distance(&state, period);
            sum += (double)distance;
            sampled += distance < bytes;
        }
        const double p = -expm1(-(double)bytes / (double)period);
        CHECK_SAY(fabs(sum / DRAWS / (double)period - 1) < 0.02, "the mean is %.4f periods",
                  sum / DRAWS / (double)period);
        CHECK_SAY(fabs(sampled - p * DRAWS) <= 5 * sqrt(DRAWS * p * (1 - p)) + 1, "%.0f of %u samples at %llu bytes",
                  sampled, (unsigned)(p * DRAWS), (unsigned long long)bytes);
    }
    for (uint64_t bytes = 1; bytes < (uint64_t)1 << 46; bytes = bytes * 3 / 2 + 1) {
        for (uint64_t period = 1; period < (uint64_t)1 << 40; period *= 7) {
            const double exact = 1 / -expm1(-(double)bytes / (double)period), ours = weight_of(bytes, period);
            CHECK_SAY(fabs(ours / exact - 1) < 2e-5, "%llu bytes, period %llu: %.12g, not %.12g",
                      (unsigned long long)bytes, (unsigned long long)period, ours, exact);
        }
    }
}

/* Kept ones, pairs that never leave the fast path, and frees in another order, of several sizes at once. */
IN_A_CHILD(estimates_are_sound)
{
    static const size_t sizes[] = { 16, 64, 208, 1024, 4096, 20480 };
    start(PERIOD);
    size_t n = 0;
    for (unsigned round = 0; round < 3000; round++) {
        for (unsigned s = 0; s < COUNT_OF(sizes); s++) {
            objects[n] = tslab_malloc(sizes[s]);
            CHECK(objects[n] != NULL);
            n++;
            for (unsigned pair = 0; pair < 4; pair++) {
                tslab_free(keep(tslab_malloc(sizes[s])));
            }
        }
    }
    double bytes = 0, variance = 0;
    for (unsigned s = 0; s < COUNT_OF(sizes); s++) {
        const double weight = weight_of(sizes[s], PERIOD);
        is_near(living(sizes[s], sizes[s] + 1).objects, 3000, weight, "living");
        bytes += 15000 * (double)sizes[s];
        variance += 15000 * (weight - 1) * (double)sizes[s] * (double)sizes[s];
    }
    const double found = (double)allocated().bytes;
    CHECK_SAY(fabs(found - bytes) <= 5 * sqrt(variance), "%.0f of %.0f bytes", found, bytes);
    CHECK(allocated().peak_bytes <= allocated().bytes);
    for (size_t i = 0; i < n; i++) {
        if (i / COUNT_OF(sizes) % 2 == 0) {
            tslab_free(objects[i]);
            objects[i] = NULL;
        }
    }
    for (unsigned s = 0; s < COUNT_OF(sizes); s++) {
        is_near(living(sizes[s], sizes[s] + 1).objects, 1500, weight_of(sizes[s], PERIOD), "living after frees");
    }
    for (size_t i = 0; i < n; i++) {
        tslab_free(objects[i]);
    }
    CHECK_SAY(all_living().samples == 0, "%u samples live, and no object does", all_living().samples);
}

/* With a sample in each byte, each object is known. */
IN_A_CHILD(each_object_is_known)
{
    start(1);
    uint64_t random = 5;
    size_t count = 0, bytes = 0;
    for (unsigned i = 0; i < 50000; i++) {
        void **const place = &objects[random_next(&random) % 1000];
        if (*place != NULL) {
            count--;
            bytes -= tslab_usable_size(*place);
            tslab_free(*place);
            *place = NULL;
        } else {
            const size_t size = random_next(&random) % (i % 50 == 0 ? 600000 : 3000);
            *place = i % 3 == 0   ? tslab_calloc(1, size)
                     : i % 5 == 0 ? tslab_aligned_alloc(64, size)
                                  : tslab_malloc(size);
            CHECK(*place != NULL && (i % 3 != 0 || all_zero(*place, size)));
            count++;
            bytes += tslab_usable_size(*place);
        }
        if (i % 5000 == 4999) {
            const struct estimate found = all_living();
            CHECK_SAY(found.samples == count && fabs(found.objects - (double)count) < 0.5,
                      "%u samples of %zu objects live", found.samples, count);
            CHECK_SAY(fabs(found.bytes - (double)bytes) < 0.5, "%.0f of %zu bytes", found.bytes, bytes);
        }
    }
}

IN_A_CHILD(it_goes_on_and_off)
{
    for (unsigned i = 0; i < MANY; i++) {
        objects[i] = tslab_malloc(64);
    }
    CHECK(load_plain(&samples.highest) == 0 && all_living().samples == 0);
    start(PERIOD);
    for (unsigned i = 0; i < MANY / 2; i++) {
        tslab_free(objects[i]);
        objects[i] = tslab_malloc(64);
    }
    is_near(all_living().objects, MANY / 2, weight_of(64, PERIOD), "while it is on");
    char value[24];
    CHECK(tslab_option_get("profile", value, sizeof value) == TSLAB_OK && strcmp(value, "4096") == 0);
    CHECK(tslab_option_set("profile", "0") == TSLAB_OK);
    const uint64_t before = allocated().bytes;
    for (unsigned i = 0; i < MANY; i++) {
        tslab_free(objects[i]);
        objects[i] = tslab_calloc(1, 64);
        CHECK(all_zero(objects[i], 64));
        memset(objects[i], 1, 64);
    }
    CHECK(all_living().samples == 0 && allocated().bytes == before);
    start(PERIOD);
    for (unsigned i = 0; i < MANY; i++) {
        tslab_free(objects[i]);
        objects[i] = tslab_calloc(1, 64);
        CHECK(all_zero(objects[i], 64));
        memset(objects[i], 1, 64);
    }
    is_near(all_living().objects, MANY, weight_of(64, PERIOD), "when it is on again");
    for (unsigned i = 0; i < MANY; i++) {
        tslab_free(objects[i]);
    }
    struct total_figures stats;
    stats_totals(&stats);
    CHECK(stats.live_objects == 0);
    CHECK(tslab_option_set("profile", "0") == TSLAB_OK);
    (void)tslab_trim();
    stats_totals(&stats);
    CHECK(stats.live_objects == 0 && stats.cached_bytes == 0);
    CHECK(stats.slabs_opened == stats.slabs_recycled);
}

/* Objects that one thread allocates and others free. */
enum { THREADS = 4, EACH = 20000 };

static void *allocate_each(void *argument)
{
    void **const mine = argument;
    for (unsigned i = 0; i < EACH; i++) {
        mine[i] = tslab_malloc(48);
        tslab_free(keep(tslab_malloc(48)));
    }
    return NULL;
}

static void *free_each(void *argument)
{
    void **const mine = argument;
    for (unsigned i = 0; i < EACH; i += 2) {
        tslab_free(mine[i]);
    }
    return NULL;
}

static void run_threads(void *(*body)(void *), unsigned shift)
{
    pthread_t threads[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, body, objects + (i + shift) % THREADS * EACH) == 0);
    }
    for (unsigned i = 0; i < 20; i++) {
        (void)all_living(); /* the others go on meanwhile */
    }
    threads_end(threads, THREADS);
}

IN_A_CHILD(threads_share_the_profile)
{
    start(PERIOD);
    run_threads(allocate_each, 0);
    is_near(living(48, 49).objects, THREADS * EACH, weight_of(48, PERIOD), "of all threads");
    run_threads(free_each, 1);
    is_near(living(48, 49).objects, THREADS * EACH / 2, weight_of(48, PERIOD), "after frees by others");
}

/* A thread that does not leave the fast path when sampling begins. */
static _Atomic(unsigned) pairs_done, is_switched;
enum { AFTERWARDS = 500 };

static void *allocate_afterwards(void *unused)
{
    while (is_switched == 0) {
        tslab_free(keep(tslab_malloc(64)));
        pairs_done++;
    }
    for (unsigned i = 0; i < AFTERWARDS; i++) {
        objects[i] = tslab_malloc(64);
    }
    return unused;
}

IN_A_CHILD(other_threads_begin_at_once)
{
    for (unsigned round = 0; round < 50; round++) {
        pthread_t thread;
        pairs_done = is_switched = 0;
        thread = thread_begin(allocate_afterwards, NULL);
        while (pairs_done < 1000) {
        }
        start(1);
        is_switched = 1;
        (void)thread_end(thread);
        const unsigned found = living(64, 65).samples;
        CHECK_SAY(found == AFTERWARDS, "%u of %u objects are sampled", found, (unsigned)AFTERWARDS);
        for (unsigned i = 0; i < AFTERWARDS; i++) {
            tslab_free(objects[i]);
        }
        CHECK(all_living().samples == 0 && tslab_option_set("profile", "0") == TSLAB_OK);
        struct tslab_stats stats;
        CHECK(tslab_stats_get(&stats) == TSLAB_OK && stats.live_objects == 0);
    }
}

/* After the free of a sampled object, its unit's neighbours are freed on the fast path again. */
IN_A_CHILD(units_are_marked_while_samples_live)
{
    void *const unsampled = tslab_malloc(64);
    start(1);
    void *const sampled = tslab_malloc(64), *const other = tslab_malloc(64);
    atomic_u32 *const tag = &arena.units[arena_unit(sampled)].tag;
    CHECK(arena_unit(unsampled) == arena_unit(sampled) && arena_unit(other) == arena_unit(sampled));
    CHECK((load_plain(tag) & TAG_SAMPLED) != 0);
    tslab_free(sampled);
    CHECK((load_plain(tag) & TAG_SAMPLED) != 0);
    tslab_free(unsampled);
    CHECK((load_plain(tag) & TAG_SAMPLED) != 0 && all_living().samples == 1);
    tslab_free(other);
    CHECK((load_plain(tag) & TAG_SAMPLED) == 0 && all_living().samples == 0);
}

IN_A_CHILD(a_child_goes_on)
{
    start(1);
    for (unsigned i = 0; i < 1000; i++) {
        objects[i] = tslab_malloc(100);
    }
    const pid_t pid = fork();
    if (pid == 0) {
        for (unsigned i = 0; i < 500; i++) {
            tslab_free(objects[i]);
        }
        for (unsigned i = 1000; i < 1100; i++) {
            objects[i] = tslab_malloc(100);
        }
        const unsigned found = living(112, 113).samples;
        CHECK_SAY(found == 600, "%u objects live in the child", found);
        _exit(0);
    }
    child_ends_well(pid);
    CHECK(living(112, 113).samples == 1000);
}

static unsigned samples_in(tslab_epoch epoch)
{
    unsigned count = 0;
    for (uint32_t number = 1; number <= load_plain(&samples.highest); number++) {
        struct sample sample;
        uint64_t bytes;
        count += profile_live(number, &sample, &bytes) && sample.epoch == epoch.id;
    }
    return count;
}

static const size_t few = 200, many = 60000;

IN_CHILDREN_OF(the_end_of_an_epoch_ends_its_samples, &few, 1, 0)
{
    const size_t most = *(const size_t *)argument; /* objects; many go to slabs */
    start(1);
    for (unsigned round = 0; round < 3; round++) {
        const tslab_epoch epoch = tslab_epoch_open(NULL);
        CHECK(tslab_epoch_enter(epoch) >= 0);
        for (size_t i = 0; i < most; i++) {
            objects[i] = i % 3 == 0     ? tslab_epoch_malloc(epoch, 40)
                         : i % 100 == 7 ? tslab_aligned_alloc(256, 300)
                                        : tslab_malloc(200);
            CHECK(objects[i] != NULL);
        }
        const unsigned all = samples_in(epoch);
        CHECK_SAY(all == most, "%u samples of %zu objects in the epoch", all, most);
        for (size_t i = 0; i < most; i += 2) {
            tslab_free(objects[i]);
        }
        const unsigned half = samples_in(epoch);
        CHECK_SAY(half == most / 2, "%u samples of %zu objects after frees", half, most / 2);
        CHECK(tslab_epoch_leave(epoch) >= 0);
        CHECK(tslab_epoch_release(epoch, 0, NULL) >= 0);
        CHECK_SAY(samples_in(epoch) == 0 && all_living().samples == 0, "%u samples outlive the epoch",
                  samples_in(epoch));
    }
}

IN_A_CHILD(epochs_are_sampled_soundly)
{
    start(PERIOD);
    const tslab_epoch epoch = tslab_epoch_open(NULL);
    CHECK(tslab_epoch_enter(epoch) >= 0);
    enum { OBJECTS = 30000 };
    for (unsigned i = 0; i < OBJECTS; i++) {
        objects[i] = tslab_malloc(32);
        tslab_free(keep(tslab_malloc(32)));
    }
    is_near(living(32, 33).objects, OBJECTS, weight_of(32, PERIOD), "in chunks");
    CHECK(tslab_epoch_leave(epoch) >= 0 && tslab_epoch_release(epoch, 0, NULL) >= 0);
}

IN_A_CHILD(large_blocks_are_followed)
{
    start(1);
    void *p = tslab_malloc(400000);
    for (size_t size = 500000; size < 50000000; size = size * 3 / 2) {
        p = tslab_realloc(p, size);
        CHECK(p != NULL);
        const struct estimate found = living(300000, SIZE_MAX);
        CHECK_SAY(found.samples == 1 && fabs(found.bytes - (double)tslab_usable_size(p)) < 0.5,
                  "%u samples, %.0f of %zu bytes", found.samples, found.bytes, tslab_usable_size(p));
    }
    p = tslab_realloc(p, 310000);
    CHECK(living(300000, SIZE_MAX).samples == 1);
    p = tslab_realloc(p, 100);
    CHECK(living(300000, SIZE_MAX).samples == 0 && living(100, 113).samples == 1);
    tslab_free(p);
    CHECK(all_living().samples == 0);
}

/* A block that grows in its place is sampled with the probability of all its bytes. */
IN_A_CHILD(growth_in_place_is_sampled)
{
    enum { BLOCKS = 400, STEPS = 6 };
    const uint64_t period = 4 << 20;
    start(period);
    double expected = 0;
    for (unsigned i = 0; i < BLOCKS; i++) {
        void *p = tslab_malloc(300000);
        for (unsigned step = 1; step <= STEPS; step++) {
            p = tslab_realloc(p, 300000 + step * 65536);
        }
        objects[i] = p;
        expected += (double)tslab_usable_size(p);
    }
    const struct estimate found = all_living();
    const double size = expected / BLOCKS, weight = weight_of((uint64_t)size, period);
    CHECK_SAY(fabs(found.bytes - expected) <= 5 * size * sqrt(BLOCKS * (weight - 1)), "%.0f of %.0f bytes", found.bytes,
              expected);
}

IN_A_CHILD(without_memory_samples_are_lost)
{
    for (unsigned i = 0; i < 1000; i++) {
        objects[i] = tslab_malloc(64);
    }
    inject(MAP, 0, UINT_MAX);
    while (metadata_alloc(4096) != NULL) { /* what is left of the last mapping */
    }
    CHECK(tslab_option_set("profile", "1") == TSLAB_NO_MEMORY && !samples_are_on());
    inject_nothing();
    start(1);
    inject(MAP, 0, UINT_MAX);
    while (metadata_alloc(64) != NULL) {
    }
    for (unsigned i = 1000; i < 60000; i++) {
        objects[i] = tslab_malloc(64);
        CHECK(objects[i] != NULL);
    }
    CHECK(counter_get(&samples.lost) + counter_get(&samples.stackless) + all_living().samples > 0);
    inject_nothing();
    for (unsigned i = 0; i < 60000; i++) {
        tslab_free(objects[i]);
    }
    CHECK(all_living().samples == 0);
    objects[0] = tslab_malloc(64);
    CHECK(all_living().samples == 1);
}

IN_A_CHILD(records_are_used_again)
{
    start(1);
    struct accounts before, after;
    for (unsigned round = 0; round < 60; round++) {
        if (round == 5) {
            (void)accounts_take(&before, RESIDENT_UNTOLD);
        }
        for (unsigned i = 0; i < 3000; i++) {
            objects[i] = tslab_malloc(256);
        }
        for (unsigned i = 0; i < 3000; i++) {
            tslab_free(objects[i]);
        }
    }
    (void)accounts_take(&after, RESIDENT_UNTOLD);
    CHECK(counter_get(&samples.lost) == 0);
    CHECK_SAY(after.epoch_records.bytes == before.epoch_records.bytes, "records grow from %llu bytes to %llu",
              (unsigned long long)before.epoch_records.bytes, (unsigned long long)after.epoch_records.bytes);
}

/* One object in eight lives, each alone on its page. */
IN_A_CHILD(sparse_pages_are_charged)
{
    start(1);
    enum { PAGES = 1000 };
    const size_t page = os_page_bytes(), size = page / 8;
    for (unsigned i = 0; i < PAGES * 8; i++) {
        objects[i] = tslab_malloc(size);
    }
    unsigned kept_pages = 0;
    for (unsigned i = 0; i < PAGES * 8; i++) {
        if ((uintptr_t)objects[i] % page != 0) {
            tslab_free(objects[i]);
        } else {
            kept_pages++;
        }
    }
    (void)tslab_trim();
    struct kept by_class[CLASS_LIMIT];
    profile_kept(by_class);
    const unsigned class = class_of_size(size);
    CHECK_SAY(by_class[class].pages == kept_pages * page, "%llu bytes are kept by %u pages",
              (unsigned long long)by_class[class].pages, kept_pages);
    CHECK(by_class[class].wasted == kept_pages * (page - class_geometry[class].size));
    uint64_t charged = 0;
    for (uint32_t number = 1; number <= load_plain(&samples.highest); number++) {
        struct sample sample;
        uint64_t bytes;
        if (profile_live(number, &sample, &bytes) && sample.class == class) {
            charged += profile_kept_by(&sample).pages;
        }
    }
    CHECK_SAY(charged == kept_pages * page, "%llu bytes are charged", (unsigned long long)charged);
}

IN_A_CHILD(is_written)
{
    start(PERIOD);
    for (unsigned i = 0; i < 20000; i++) {
        objects[i] = tslab_malloc(64);
    }
    char path[] = "/tmp/tslab-profile-XXXXXX";
    const int fd = mkstemp(path);
    CHECK(fd >= 0 && unlink(path) == 0);
    CHECK(tslab_profile_write(fd) == TSLAB_OK);
    static char text[1 << 20];
    const ssize_t length = pread(fd, text, sizeof text - 1, 0);
    CHECK(length > 0 && length < (ssize_t)sizeof text - 1);
    CHECK(strncmp(text, "tslab-profile 1\n", 16) == 0 && strstr(text, "\nperiod 4096\n") != NULL);
    CHECK(strstr(text, "\nstack 1 ") != NULL && strstr(text, "\nlive ") != NULL && strstr(text, "\nmaps\n") != NULL);
    CHECK(strstr(strstr(text, "\nmaps\n"), "r-xp") != NULL);
    CHECK(tslab_profile_write(-1) == TSLAB_INVALID);
    CHECK(close(fd) == 0 && tslab_profile_write(fd) == TSLAB_INVALID);
}

TEST(test_slabs_of_epochs)
{
    child_succeeds(the_end_of_an_epoch_ends_its_samples, &many, "");
}
