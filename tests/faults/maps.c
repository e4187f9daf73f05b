/* The process has no mapping left (vm.max_map_count): what needs one is refused with ENOMEM, everything else goes on,
 * and when there are mappings again, so does that. */

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <tslab/tslab.h>

enum { MAPS_MOST = 1 << 20, OBJECTS = 20000, SKIPPED = 77 };

static void *maps[MAPS_MOST];
static unsigned char *objects[OBJECTS];
static size_t sizes[OBJECTS];

static void fail(const char *what)
{
    fprintf(stderr, "maps: %s\n", what);
    exit(1);
}

/* Neighbours of different access do not merge. Returns how many there are once the kernel refuses. */
static size_t take_all_maps(size_t page)
{
    for (size_t i = 0; i < MAPS_MOST; i++) {
        maps[i] = mmap(NULL, page, i % 2 == 0 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (maps[i] == MAP_FAILED) {
            return i;
        }
    }
    return MAPS_MOST;
}

static bool allocate(size_t i, size_t size)
{
    errno = 0;
    objects[i] = tslab_malloc(size);
    sizes[i] = size;
    if (objects[i] == NULL) {
        if (errno != ENOMEM) {
            fail("NULL without ENOMEM");
        }
        return false;
    }
    objects[i][0] = (unsigned char)i;
    objects[i][size - 1] = (unsigned char)i;
    return true;
}

static void release(size_t i)
{
    if (objects[i] != NULL && (objects[i][0] != (unsigned char)i || objects[i][sizes[i] - 1] != (unsigned char)i)) {
        fail("an object was damaged");
    }
    tslab_free(objects[i]);
    objects[i] = NULL;
}

/* Returns how many of all sizes could be had, while others come and go. */
static size_t traffic(void)
{
    size_t served = 0;
    uint32_t random = 1;
    for (size_t i = 0; i < 4 * OBJECTS; i++) {
        const size_t at = i % OBJECTS;
        random = random * 1664525 + 1013904223;
        release(at);
        served += allocate(at, 1 + (random >> 8) % ((random & 255) == 0 ? 4 << 20 : 2000));
    }
    return served;
}

/* Epochs whose memory should be trapped, which splits a mapping, or is merely released; later ones get it again. */
static void epochs(void)
{
    enum { EPOCHS = 6000, EACH = 30, BYTES = 700 };
    static const enum tslab_policy policies[] = { TSLAB_POLICY_TRAP, TSLAB_POLICY_RELEASE, TSLAB_POLICY_DRAIN };
    for (size_t i = 0; i < EPOCHS; i++) {
        const enum tslab_policy policy = policies[i % 3];
        const tslab_epoch epoch = tslab_epoch_open(&(struct tslab_epoch_options){ .policy = policy });
        unsigned char *mine[EACH] = { NULL };
        for (size_t k = 0; k < EACH && epoch.id != 0; k++) {
            mine[k] = tslab_epoch_malloc(epoch, BYTES);
            if (mine[k] != NULL) {
                memset(mine[k], (int)k, BYTES);
            }
        }
        for (size_t k = 0; k < EACH; k++) {
            if (mine[k] != NULL && (mine[k][0] != (unsigned char)k || mine[k][BYTES - 1] != (unsigned char)k)) {
                fail("an object of an epoch was damaged");
            }
            tslab_free(policy == TSLAB_POLICY_DRAIN ? mine[k] : NULL);
        }
        if (epoch.id != 0 && tslab_epoch_close(epoch, i % 100 == 0 ? TSLAB_CLOSE_RECLAIM : 0, NULL) != TSLAB_OK) {
            fail("an epoch could not be closed");
        }
    }
}

/* Pages can be given back without a mapping more; what is said to be given back was. */
static void purge(void)
{
    uint64_t before = 0, after = 0;
    for (size_t i = 0; i < OBJECTS; i += 2) {
        release(i);
    }
    (void)tslab_stat_get("purged_bytes", &before);
    const size_t trimmed = tslab_trim();
    (void)tslab_stat_get("purged_bytes", &after);
    if (trimmed == 0 || trimmed != after - before) {
        fail("a trim does not give back what it says");
    }
}

int main(void)
{
    const size_t page = 4096;
    tslab_epoch epoch = tslab_epoch_open(NULL);
    (void)traffic();
    const size_t count = take_all_maps(page);
    if (count == MAPS_MOST) {
        fputs("maps: this system has no limit that a test could reach\n", stderr);
        return SKIPPED;
    }
    if (traffic() == 0) {
        fail("not even what was there already could be used");
    }
    epochs();
    (void)tslab_epoch_malloc(epoch, 100);
    tslab_epoch_release(epoch, TSLAB_CLOSE_RECLAIM, NULL);
    purge();
    for (size_t i = 0; i < count; i++) {
        if (munmap(maps[i], page) != 0) {
            fail("munmap");
        }
    }
    if (traffic() != 4 * OBJECTS) {
        fail("there are mappings again, and not all could be served");
    }
    void *large = tslab_malloc((size_t)512 << 20);
    if (large == NULL) {
        fail("there are mappings again, and no 512 MiB");
    }
    tslab_free(large);
    for (size_t i = 0; i < OBJECTS; i++) {
        release(i);
    }
    struct tslab_stats stats;
    tslab_stats_get(&stats);
    if (stats.live_objects != 0) {
        fail("objects are left");
    }
    return 0;
}
