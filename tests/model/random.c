/* Random operations on the public functions, checked by the shadow map and, now and then, by the law of conservation.
 *
 *   random <mix> <first seed> <seeds> <operations>
 *
 * A mix says which sizes are asked for. A failure names the seed; the same arguments fail again. */
#include "conservation.h"
#include "shadow.h"

#include "common/size_class.h"

#include <errno.h>
#include <tslab/tslab.h>

enum { LIVE_BYTES = 48 << 20, LIVE_OBJECTS = 20000, CHECKS = 12 };

static uint64_t state;

static size_t below(size_t limit)
{
    return random_next(&state) % limit;
}

/* A size around the end of a class, or of a unit. */
static size_t boundary_size(void)
{
    const size_t around = 3 + below(3);
    if (below(8) == 0) {
        const size_t size = (1 + below(8)) * UNIT_BYTES;
        return size - around + below(2 * around);
    }
    return class_geometry[1 + below(CLASS_LIMIT - 1)].size - around + below(2 * around);
}

static size_t app_size(void)
{
    const size_t what = below(100);
    return what < 80 ? 16 + below(241) : what < 95 ? 257 + below(1792) : 2049 + below(30720);
}

static size_t small_size(void)
{
    return below(256);
}

static size_t large_size(void)
{
    return below(4) == 0 ? below(40000) : below(16) == 0 ? below(4 << 20) : 32769 + below(200000);
}

static size_t any_size(void)
{
    static size_t (*const kinds[])(void) = { small_size, small_size, app_size, app_size, boundary_size };
    return below(40) == 0 ? large_size() : kinds[below(COUNT_OF(kinds))]();
}

static const struct mix {
    const char *name;
    size_t (*size)(void);
} mixes[] = {
    { "small", small_size }, { "app", app_size }, { "boundary", boundary_size },
    { "large", large_size }, { "any", any_size },
};

static struct shadow shadow;
static const struct mix *mix;
static size_t refused; /* allocations */

/* A small arena may be full, and then objects are refused; there is no other reason. */
static bool granted(const void *p, size_t size, size_t alignment)
{
    if (p == NULL) {
        const unsigned class = class_of_aligned(size, alignment);
        CHECK(errno == ENOMEM);
        CHECK_SAY(class == CLASS_NONE ? !conservation_has_room_for(size + alignment) : !conservation_has_room(class),
                  "%zu bytes were refused, though there is room", size);
        refused++;
    }
    return p != NULL;
}

static void allocate(void)
{
    const size_t size = mix->size();
    errno = 0;
    void *const p = tslab_malloc(size);
    if (granted(p, size, 1)) {
        shadow_born(&shadow, p, size, 16);
    }
}

static void allocate_zero(void)
{
    const size_t size = mix->size();
    const size_t count = 1 + below(4);
    errno = 0;
    void *const p = tslab_calloc(count, size / count);
    if (granted(p, size / count * count, 1)) {
        CHECK(all_zero(p, size / count * count));
        shadow_born(&shadow, p, size / count * count, 16);
    }
}

static void allocate_aligned(void)
{
    const size_t size = mix->size();
    const size_t alignment = (size_t)1 << (below(10) == 0 ? below(22) : below(13));
    errno = 0;
    void *const p = tslab_aligned_alloc(alignment, size);
    if (granted(p, size, alignment)) {
        shadow_born(&shadow, p, size, alignment);
    }
}

static void release(size_t i)
{
    void *const p = shadow_dies(&shadow, i);
    errno = (int)i;
    tslab_free(p);
    CHECK(errno == (int)i);
}

static void reallocate(void)
{
    const size_t i = below(shadow.count);
    struct object *const object = shadow.objects[i];
    const size_t what = below(4);
    const size_t size = what == 0   ? mix->size()
                        : what == 1 ? object->asked + below(64)
                        : what == 2 ? object->asked / 2 + 1
                                    : object->asked + object->asked / 2 + 1;
    if (size == 0) {
        void *const p = shadow_dies(&shadow, i);
        CHECK(tslab_realloc(p, 0) == NULL);
        return;
    }
    errno = 0;
    void *const p = tslab_realloc(object->start, size);
    if (granted(p, size, 1)) {
        shadow_moved(&shadow, i, p, size);
    }
}

static void release_many(void)
{
    for (size_t n = below(shadow.count); n > 0; n--) {
        release(below(shadow.count));
    }
}

static void step(void)
{
    const size_t what = below(1000);
    if (shadow.bytes > LIVE_BYTES || shadow.count > LIVE_OBJECTS) {
        release_many();
    } else if (shadow.count == 0 || what < 300) {
        allocate();
    } else if (what < 370) {
        allocate_zero();
    } else if (what < 420) {
        allocate_aligned();
    } else if (what < 560) {
        reallocate();
    } else if (what < 990) {
        release(below(shadow.count));
    } else if (what < 992) {
        (void)tslab_trim();
    } else if (what < 994) {
        release_many();
    } else {
        /* A burst: allocations alone. */
        for (size_t n = below(1000); n > 0; n--) {
            allocate();
        }
    }
}

static void run(uint64_t seed, size_t operations)
{
    state = (seed + 1) * 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < operations; i++) {
        step();
        if (i % (operations / CHECKS + 1) == 0) {
            shadow_check(&shadow);
            conservation_check(&shadow);
        }
    }
    while (shadow.count > 0) {
        release(below(shadow.count));
    }
    conservation_check(&shadow);
    (void)tslab_trim();
    conservation_check_empty();
}

int main(int argc, char **argv)
{
    CHECK_SAY(argc == 5, "usage: random <mix> <first seed> <seeds> <operations>");
    for (size_t i = 0; i < COUNT_OF(mixes); i++) {
        if (strcmp(mixes[i].name, argv[1]) == 0) {
            mix = &mixes[i];
        }
    }
    CHECK_SAY(mix != NULL, "there is no mix %s", argv[1]);
    const uint64_t first = strtoull(argv[2], NULL, 10), count = check_count(argv[3]), operations = check_count(argv[4]);
    for (uint64_t seed = first; seed < first + count; seed++) {
        fprintf(stderr, "seed %llu\n", (unsigned long long)seed);
        run(seed, operations);
    }
    fprintf(stderr, "refused: %zu\n", refused);
    free(shadow.objects);
    return 0;
}
