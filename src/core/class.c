#include "core/class.h"

#define SLOTS(size, units) ((units)*UNIT_BYTES / (size))

/* clang-format off */
#define GEOMETRY(a, bytes, unit_count)                                     \
    {                                                                      \
        .reciprocal = (((uint64_t)1 << 40) + (bytes) - 1) / (bytes),       \
        .last_word = SLOT_BITS((SLOTS(bytes, unit_count) - 1) % WORD_SLOTS + 1), \
        .size = (bytes),                                                   \
        .slots = SLOTS(bytes, unit_count),                                 \
        .words = (SLOTS(bytes, unit_count) + WORD_SLOTS - 1) / WORD_SLOTS, \
        .units = (unit_count),                                             \
        .shares_lines = (bytes) % CACHE_LINE != 0,                         \
    },
/* clang-format on */

const struct class_geometry class_geometry[CLASS_LIMIT] = { { .size = 0 }, CLASS_TABLE(GEOMETRY, 0) };

#define FITS_BITMAP(a, bytes, units)                                                                                   \
    _Static_assert(SLOTS(bytes, units) <= WORD_SLOTS * BITMAP_WORDS, "the bitmap of a slab has a bit for every slot"); \
    _Static_assert((bytes) % GRANULE_BYTES == 0, "slots are aligned to a granule");                                    \
    _Static_assert((units)*UNIT_BYTES <= 1 << 20, "offsets in a slab are small enough for the reciprocal");
CLASS_TABLE(FITS_BITMAP, 0)

/* The class of n granules is 1 + the number of classes whose size is smaller. */
#define IS_SMALLER(n, bytes, units) +((n) > (bytes) / GRANULE_BYTES) /* NOLINT(bugprone-macro-parentheses): a term */
#define OF(n)                       (1 CLASS_TABLE(IS_SMALLER, n)) << CLASS_SCALE
#define OF_4(n)                     OF(n), OF((n) + 1), OF((n) + 2), OF((n) + 3)
#define OF_16(n)                    OF_4(n), OF_4((n) + 4), OF_4((n) + 8), OF_4((n) + 12)
#define OF_64(n)                    OF_16(n), OF_16((n) + 16), OF_16((n) + 32), OF_16((n) + 48)
#define OF_256(n)                   OF_64(n), OF_64((n) + 64), OF_64((n) + 128), OF_64((n) + 192)
#define OF_1024(n)                  OF_256(n), OF_256((n) + 256), OF_256((n) + 512), OF_256((n) + 768)

const uint16_t class_scaled_of_granules[SMALL_MAX / GRANULE_BYTES + 1] = {
    OF_1024(0),
#if !TSLAB_SIM
    OF_1024(1024),
#endif
    (CLASS_LIMIT - 1) << CLASS_SCALE,
};

unsigned class_of_aligned(size_t size, size_t alignment)
{
    if (size > SMALL_MAX || alignment > UNIT_BYTES) {
        return CLASS_NONE;
    }
    /* A slab starts at a unit, so a slot is aligned when its size is a multiple of the alignment. */
    unsigned c = class_of_size(max_size(size, 1));
    while (c < CLASS_LIMIT && class_geometry[c].size % alignment != 0) {
        c++;
    }
    return c < CLASS_LIMIT ? c : CLASS_NONE;
}
