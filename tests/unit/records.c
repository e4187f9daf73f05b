/* Records of epochs: the pages of those that are idle go back, a value of an earlier life is refused whatever became of
 * its record, an instance finds its members alone, and its quota stays while it is used. */
#include "child.h"

#include "epoch/ending.h"
#include "malloc/current_thread.h"
#include "os/os.h"
#include "slab/epoch_record.h"

#include <pthread.h>
#include <tslab/tslab.h>

enum { MANY = 100000, THREADS = 3, SHARED = 64, ROUNDS = 60, BATCH = 3000, MEMBERS = 50 };

static tslab_epoch epochs[MANY];
static uint64_t before[2 * MANY]; /* the value of each record's last life, by its index */

static void open_all(void)
{
    for (size_t i = 0; i < MANY; i++) {
        epochs[i] = tslab_epoch_open(NULL);
        const uint64_t value = epochs[i].id, id = value & bit_mask(EPOCH_GENERATION_SHIFT);
        CHECK(value != 0 && id < COUNT_OF(before));
        CHECK_SAY(value > before[id], "%#llx after %#llx", (unsigned long long)value, (unsigned long long)before[id]);
        before[id] = value;
    }
}

static void close_all(void)
{
    for (size_t i = 0; i < MANY; i++) {
        CHECK(tslab_epoch_close(epochs[i], 0, NULL) == TSLAB_OK);
    }
}

IN_A_CHILD(pages_of_idle_records_go_back)
{
    tslab_free(keep(tslab_malloc(1)));
    const size_t none = os_resident_bytes();
    open_all();
    const size_t most = os_resident_bytes() - none;
    const tslab_epoch kept = epochs[MANY / 2];
    epochs[MANY / 2] = tslab_epoch_open(NULL);
    close_all();
    (void)tslab_trim();
    const size_t left = os_resident_bytes() - none;
    /* A sanitizer has memory of its own about each word that was ever written. */
    CHECK_SAY(TSLAB_TSAN || left < most / 6, "%zu of %zu KiB are left", left >> 10, most >> 10);
    /* No value of before is one again, neither of a record without pages nor of its next life. */
    for (size_t i = 0; i < MANY; i++) {
        CHECK(tslab_epoch_close(epochs[i], 0, NULL) == TSLAB_STALE && tslab_epoch_enter(epochs[i]) == TSLAB_STALE);
    }
    (void)tslab_trim();
    open_all();
    for (size_t i = 0; i < MANY; i++) {
        const uint64_t earlier = epochs[i].id - ((uint64_t)1 << EPOCH_GENERATION_SHIFT);
        CHECK(tslab_epoch_close((tslab_epoch){ earlier }, 0, NULL) == TSLAB_STALE);
    }
    CHECK(tslab_epoch_enter(epochs[7]) >= 0);
    char *const p = keep(tslab_epoch_malloc(epochs[7], 1000));
    memset(p, 1, 1000);
    CHECK(tslab_epoch_leave(epochs[7]) == TSLAB_OK);
    close_all();
    tslab_free(p);
    CHECK(tslab_epoch_close(kept, 0, NULL) == TSLAB_OK);
}

/* Threads that come late to records whose pages go. */

static atomic_u64 shared[SHARED];
static atomic_bool over;

static void *come_late(void *argument)
{
    uint64_t seed = (uintptr_t)argument;
    while (!load_acquire(&over)) {
        const tslab_epoch epoch = { load_acquire(&shared[random_next(&seed) % SHARED]) };
        if (epoch.id == 0) {
            continue;
        }
        if (tslab_epoch_enter(epoch) >= 0) {
            tslab_free(tslab_epoch_malloc(epoch, 100));
            CHECK(tslab_epoch_leave(epoch) == TSLAB_OK);
        }
        if (random_next(&seed) % 8 == 0) {
            (void)tslab_epoch_close(epoch, 0, NULL);
        }
    }
    return NULL;
}

IN_A_CHILD(late_threads_find_nothing)
{
    pthread_t threads[THREADS];
    threads_begin(threads, THREADS, come_late, (void *)1, 1);
    for (size_t round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < BATCH; i++) {
            epochs[i] = tslab_epoch_open(NULL);
            CHECK(epochs[i].id != 0);
            store_release(&shared[i % SHARED], epochs[i].id);
        }
        for (size_t i = 0; i < BATCH; i++) {
            (void)tslab_epoch_close(epochs[i], 0, NULL);
        }
        (void)tslab_trim();
    }
    store_release(&over, true);
    threads_end(threads, THREADS);
    (void)tslab_trim();
    CHECK(tslab_epoch_list(NULL, 0) == 0);
}

/* Instances. */

IN_A_CHILD(an_instance_finds_its_members_alone)
{
    open_all();
    const tslab_instance instance = tslab_instance_open("tenant"), other = tslab_instance_open("other");
    tslab_epoch members[MEMBERS];
    for (size_t i = 0; i < MEMBERS; i++) {
        /* Records that others had come to it, and its own go to others. */
        members[i] = tslab_epoch_open(&(struct tslab_epoch_options){ .instance = i % 2 == 0 ? instance : other });
        CHECK(members[i].id != 0 && tslab_epoch_close(members[i], 0, NULL) == TSLAB_OK);
        members[i] = tslab_epoch_open(&(struct tslab_epoch_options){ .instance = i % 2 == 0 ? other : instance });
        CHECK(members[i].id != 0);
    }
    CHECK(tslab_epoch_enter(members[1]) >= 0);
    CHECK(tslab_instance_close(instance, 0, NULL) == TSLAB_BUSY);
    CHECK(tslab_epoch_leave(members[1]) == TSLAB_OK);
    CHECK(tslab_instance_close(instance, 0, NULL) == TSLAB_OK);
    for (size_t i = 0; i < MEMBERS; i++) {
        CHECK(tslab_epoch_close(members[i], 0, NULL) == (i % 2 == 0 ? TSLAB_OK : TSLAB_STALE));
    }
    CHECK(tslab_instance_close(other, 0, NULL) == TSLAB_OK);
    close_all();
}

/* An epoch that another thread opened at that moment outlives its instance, and counts in its quota. */
IN_A_CHILD(a_quota_stays_while_it_is_used)
{
    open_all();
    CHECK(tslab_epoch_close(epochs[MANY / 2], 0, NULL) == TSLAB_OK);
    (void)tslab_trim();
    const tslab_instance instance = tslab_instance_open("over"); /* takes that record */
    struct epoch *const root = epoch_by_value(instance.id);
    const tslab_epoch late = tslab_epoch_open(&(struct tslab_epoch_options){ .instance = instance });
    void *const p = keep(tslab_epoch_malloc(late, (size_t)1 << 20));
    epochs[MANY / 2] = tslab_epoch_open(NULL);
    CHECK(ending_release(current_thread_get(), instance.id, false, NULL) == TSLAB_OK);
    close_all();
    (void)tslab_trim();
    CHECK(epoch_by_value(instance.id) == NULL && counter_get(&root->own_quota.units) > 0);
    tslab_free(p);
    CHECK(tslab_epoch_close(late, 0, NULL) == TSLAB_OK);
    CHECK_SAY(counter_get(&root->own_quota.units) == 0, "%llx",
              (unsigned long long)counter_get(&root->own_quota.units));
    (void)tslab_trim();
    CHECK(root->id == 0); /* now its pages went */
}
