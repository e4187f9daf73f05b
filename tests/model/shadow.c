#include "shadow.h"

#include <search.h>
#include <tslab/tslab.h>

/* An object without a usable byte has an address all the same. */
static const char *end_of(const struct object *object)
{
    return object->start + object->usable + (object->usable == 0);
}

/* Ranges that overlap compare as equal, so the map finds for every new one an old one that it runs into. */
static int compare_ranges(const void *a, const void *b)
{
    const struct object *left = a, *right = b;
    if (end_of(left) <= right->start) {
        return -1;
    }
    return left->start >= end_of(right);
}

static void check_and_fill(struct shadow *shadow, struct object *object, size_t alignment)
{
    CHECK(object->start != NULL);
    CHECK_SAY((uintptr_t)object->start % alignment == 0 && (uintptr_t)object->start % 16 == 0,
              "%p is not aligned to %zu", (void *)object->start, alignment);
    object->usable = tslab_usable_size(object->start);
    CHECK_SAY(object->usable >= object->asked, "%zu bytes are usable of %zu", object->usable, object->asked);
    struct object **const found = tsearch(object, &shadow->ranges, compare_ranges);
    CHECK(found != NULL);
    CHECK_SAY(*found == object, "%p of %zu bytes overlaps %p of %zu", (void *)object->start, object->usable,
              (void *)(*found)->start, (*found)->usable);
    object->seed = ++shadow->next_seed;
    pattern_fill(object->start, object->usable, object->seed);
    shadow->bytes += object->usable;
}

static void check_contents(const struct object *object)
{
    CHECK_SAY(pattern_holds(object->start, object->usable, object->seed), "%p of %zu bytes was overwritten",
              (void *)object->start, object->usable);
}

static void forget_range(struct shadow *shadow, struct object *object)
{
    CHECK(tdelete(object, &shadow->ranges, compare_ranges) != NULL);
    shadow->bytes -= object->usable;
}

void shadow_born(struct shadow *shadow, void *p, size_t asked, size_t alignment)
{
    if (shadow->count == shadow->capacity) {
        shadow->capacity = shadow->capacity * 2 + 64;
        shadow->objects = realloc(shadow->objects, shadow->capacity * sizeof shadow->objects[0]);
        CHECK(shadow->objects != NULL);
    }
    struct object *object = malloc(sizeof *object);
    CHECK(object != NULL);
    *object = (struct object){ .start = p, .asked = asked };
    check_and_fill(shadow, object, alignment);
    shadow->objects[shadow->count++] = object;
}

void *shadow_dies(struct shadow *shadow, size_t i)
{
    struct object *const object = shadow->objects[i];
    void *const start = object->start;
    check_contents(object);
    forget_range(shadow, object);
    shadow->objects[i] = shadow->objects[--shadow->count];
    free(object);
    return start;
}

void shadow_moved(struct shadow *shadow, size_t i, void *p, size_t asked)
{
    struct object *const object = shadow->objects[i];
    const size_t kept = asked < object->asked ? asked : object->asked;
    CHECK(p != NULL);
    CHECK_SAY(pattern_holds(p, kept, object->seed), "realloc of %p from %zu to %zu bytes lost contents",
              (void *)object->start, object->asked, asked);
    forget_range(shadow, object);
    object->start = p;
    object->asked = asked;
    check_and_fill(shadow, object, 1);
}

void shadow_check(const struct shadow *shadow)
{
    for (size_t i = 0; i < shadow->count; i++) {
        check_contents(shadow->objects[i]);
    }
}
