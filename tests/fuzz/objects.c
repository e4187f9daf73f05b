#include "objects.h"

#include "failure.h"

#include <string.h>
#include <sys/mman.h>

struct objects objects;

/* The map: a directory of parts that are made when they are first needed. */
enum { GRANULE_SHIFT = 4, PART_SHIFT = 30, ADDRESS_BITS = 48, WORD_BITS = 64 };

static uint64_t *parts[1 << (ADDRESS_BITS - PART_SHIFT)];

static uint64_t *map_word(uintptr_t address)
{
    CHECK(address >> ADDRESS_BITS == 0);
    uint64_t **const part = &parts[address >> PART_SHIFT];
    if (*part == NULL) {
        const size_t bytes = (size_t)1 << (PART_SHIFT - GRANULE_SHIFT - 3);
        *part = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        CHECK_SAY(*part != MAP_FAILED, "there is no memory for the map of objects");
    }
    return &(*part)[(address & (((uintptr_t)1 << PART_SHIFT) - 1)) >> GRANULE_SHIFT >> 6];
}

/* Two objects were given the same memory: says which. */
static _Noreturn void overlaps(const char *start, size_t bytes)
{
    for (size_t i = 0; i < objects.count; i++) {
        const struct object *const other = &objects.all[i];
        if (other->start < start + bytes && start < other->start + other->usable) {
            failure(__FILE__, __LINE__, "%p of %zu bytes overlaps %p of %zu", (const void *)start, bytes,
                    (void *)other->start, other->usable);
        }
    }
    failure(__FILE__, __LINE__, "%p of %zu bytes overlaps another object", (const void *)start, bytes);
}

/* Sets the bits of a range, which must be clear, or clears them, which must be set. */
static void map_set(const char *start, size_t bytes, bool set)
{
    uintptr_t granule = (uintptr_t)start >> GRANULE_SHIFT;
    const uintptr_t end = ((uintptr_t)start + bytes + (1 << GRANULE_SHIFT) - 1) >> GRANULE_SHIFT;
    while (granule < end) {
        const unsigned first = granule % WORD_BITS;
        const uintptr_t n = end - granule < WORD_BITS - first ? end - granule : WORD_BITS - first;
        const uint64_t bits = (n == WORD_BITS ? UINT64_MAX : ((uint64_t)1 << n) - 1) << first;
        uint64_t *const word = map_word(granule << GRANULE_SHIFT);
        if ((*word & bits) != (set ? 0 : bits)) {
            overlaps(start, bytes);
        }
        *word ^= bits;
        granule += n;
    }
}

/* The pattern has all words of a small object. Of a larger one it has those at both ends, and some of every page. */
enum { END_BYTES = 512, STRIDE_BYTES = 512 };

static uint64_t pattern(uint64_t seed, size_t at)
{
    return (seed + at) * 0x9e3779b97f4a7c15u + seed;
}

static size_t next_place(size_t at, size_t usable)
{
    return at < END_BYTES || at + END_BYTES >= usable ? at + 8 : at + STRIDE_BYTES;
}

static void fill(const struct object *object)
{
    for (size_t at = 0; at + 8 <= object->usable; at = next_place(at, object->usable)) {
        const uint64_t word = pattern(object->seed, at);
        __builtin_memcpy(object->start + at, &word, 8);
    }
}

/* Whether the first `most` bytes at p are those of the object. */
static bool holds(const struct object *object, const char *p, size_t most)
{
    for (size_t at = 0; at + 8 <= most; at = next_place(at, object->usable)) {
        uint64_t word;
        __builtin_memcpy(&word, p + at, 8);
        if (word != pattern(object->seed, at)) {
            return false;
        }
    }
    return true;
}

static void check_and_fill(struct object *object)
{
    CHECK(object->start != NULL);
    CHECK_SAY((uintptr_t)object->start % object->alignment == 0 && (uintptr_t)object->start % 16 == 0,
              "%p of %zu bytes is not aligned to %zu", (void *)object->start, object->asked, object->alignment);
    object->usable = tslab_usable_size(object->start);
    CHECK_SAY(object->usable >= object->asked, "%zu bytes are usable of %zu", object->usable, object->asked);
    map_set(object->start, object->usable, true);
    objects.bytes += object->usable;
    object->seed = ++objects.next_seed;
    fill(object);
}

static void forget(const struct object *object)
{
    map_set(object->start, object->usable, false);
    objects.bytes -= object->usable;
#if !FUZZ_DROPIN
    scribble_note(object->start, object->usable);
#endif
}

bool object_lives_at(const char *p)
{
    const uintptr_t granule = (uintptr_t)p >> GRANULE_SHIFT;
    return (*map_word(granule << GRANULE_SHIFT) >> granule % WORD_BITS & 1) != 0;
}

struct object *object_born(void *p, size_t asked, size_t alignment)
{
    CHECK(objects.count < OBJECTS_MOST);
    struct object *const object = &objects.all[objects.count];
    *object = (struct object){ .start = p, .asked = asked, .alignment = alignment };
    check_and_fill(object);
    objects.count++;
    return object;
}

void object_check(const struct object *object)
{
    CHECK_SAY(holds(object, object->start, object->usable), "%p of %zu bytes was overwritten", (void *)object->start,
              object->usable);
}

void object_is_lost(struct object *object)
{
    forget(object);
    *object = objects.all[--objects.count];
}

void object_dies(struct object *object)
{
    object_check(object);
    object_is_lost(object);
}

void object_moved(struct object *object, void *p, size_t asked)
{
    const size_t kept = asked < object->asked ? asked : object->asked;
    CHECK_SAY(holds(object, p, kept), "realloc of %p from %zu to %zu bytes lost contents", (void *)object->start,
              object->asked, asked);
    forget(object);
    object->start = p;
    object->asked = asked;
    object->alignment = 1;
    check_and_fill(object);
}

void objects_check(void)
{
    for (size_t i = 0; i < objects.count; i++) {
        object_check(&objects.all[i]);
    }
}

bool is_zero(const void *p, size_t size)
{
    enum { WHOLE = 4096, SAMPLE = 256 };
    const char *const bytes = p;
    const size_t whole = size < WHOLE ? size : WHOLE;
    if (whole > 0 && (bytes[0] != 0 || memcmp(bytes, bytes + 1, whole - 1) != 0)) {
        return false;
    }
    for (size_t at = whole; at < size; at += size - at <= SAMPLE ? 1 : SAMPLE) {
        if (bytes[at] != 0) {
            return false;
        }
    }
    return true;
}
