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
    (void)tslab_epoch_malloc(epoch, 100);
    tslab_epoch_release(epoch, TSLAB_RECLAIM, NULL);
    (void)tslab_trim();
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
