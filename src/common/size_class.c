/* The tables about size classes, all generated from CLASS_TABLE, and checked when they are compiled. */
#include "common/size_class.h"

#define SHARES_LINES(bytes) ((bytes) < SHARED_LINES_BELOW && (bytes) % CACHE_LINE != 0)
#define SLOTS(size, units)  ((units)*UNIT_BYTES / (size))

/* clang-format off */
#define GEOMETRY(a, bytes, unit_count)                                     \
    {                                                                      \
        .reciprocal = (((uint64_t)1 << 40) + (bytes) - 1) / (bytes),       \
        .last_word = SLOT_BITS((SLOTS(bytes, unit_count) - 1) % WORD_SLOTS + 1), \
        .size = (bytes),                                                   \
        .slots = SLOTS(bytes, unit_count),                                 \
        .words = (SLOTS(bytes, unit_count) + WORD_SLOTS - 1) / WORD_SLOTS, \
        .units = (unit_count),                                             \
        .shares_lines = SHARES_LINES(bytes),                               \
    },
/* clang-format on */

const struct class_geometry class_geometry[CLASS_LIMIT] = { { .size = 0 }, CLASS_TABLE(GEOMETRY, 0) };

#define FITS_BITMAP(a, bytes, units)                                                                                   \
    _Static_assert(SLOTS(bytes, units) <= WORD_SLOTS * BITMAP_WORDS, "the bitmap of a slab has a bit for every slot"); \
    _Static_assert((bytes) % GRANULE_BYTES == 0, "slots are aligned to a granule");                                    \
    _Static_assert((units)*UNIT_BYTES <= 1 << 21, "offsets in a slab are small enough for the reciprocal");
CLASS_TABLE(FITS_BITMAP, 0)

/* A class serves the sizes from one granule more than the class before it: FROM_ is the enumerator that follows TO_. */
#define GRANULES(a, bytes, units) FROM_##bytes, TO_##bytes = (bytes) / GRANULE_BYTES,
enum { CLASS_TABLE(GRANULES, 0) };
#define SCALED(a, bytes, units) [FROM_##bytes... TO_##bytes] = CLASS_##bytes << CLASS_SCALE,

const uint16_t class_scaled_of_granules[SMALL_MAX / GRANULE_BYTES + 1] = { CLASS_TABLE(SCALED, 0) };

unsigned class_of_aligned(size_t size, size_t alignment)
{
    invariant(is_power_of_two(alignment));
    if (size > SMALL_MAX || alignment > UNIT_BYTES) {
        return CLASS_NONE;
    }
    /* A slab starts at a unit, so a slot is aligned when its size is a multiple of the alignment. */
    unsigned c = class_of_size(max_size(size, 1));
    while (c < CLASS_LIMIT && class_geometry[c].size % alignment != 0) {
        c++;
    }
    invariant(c != CLASS_NONE && (c == CLASS_LIMIT || class_geometry[c].size >= size));
    return c < CLASS_LIMIT ? c : CLASS_NONE;
}
