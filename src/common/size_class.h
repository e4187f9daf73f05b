/* Size classes: the sizes that slots have, and the layout of a slab of each.
 *
 * One table gives everything: the size of a slot and the units of a slab. The steps are 16 bytes up to 128, then eight
 * a doubling up to 2 KiB, then four a doubling up to 256 KiB. Up to 8 KiB, powers of two are followed by a class for
 * one with a header. From 16 KiB on, powers of two have a cache line more, so that their first bytes do not all meet in
 * one set of the processor's caches. A slab has at least 32 slots of up to 1 KiB, 16 of up to 4 KiB, and 8 of up to 16
 * KiB, and its tail waste is below 3 %. Larger slots have the shortest slab without a tail, which is empty soon and
 * whose units then serve any class; those of powers of two have at least two slots, and tails below 6 %
 * (docs/decisions/size-classes.md). Class 0 is no class: units without slots (free units, large runs, chunks) have tags
 * of class 0.
 *
 * The simulation build has another table, with few slots and words of two bits, to give bugs a chance.
 *
 * Threads: any. The tables are constant. */
#ifndef TSLAB_COMMON_SIZE_CLASS_H
#define TSLAB_COMMON_SIZE_CLASS_H

#include "base/atomic.h"
#include "base/bits.h"
#include "base/limits.h"
#include "os/fatal.h"

enum {
    UNIT_SHIFT = 14,
    UNIT_BYTES = 1 << UNIT_SHIFT,
    GRANULE_SHIFT = 4,
    GRANULE_BYTES = 1 << GRANULE_SHIFT, /* every object is aligned to it */
};

#if TSLAB_SIM
#define CLASS_TABLE(X, a) X(a, 1024, 1) X(a, 4096, 1) X(a, 8192, 1) X(a, 16384, 2)
#else
/* clang-format off */
#define CLASS_TABLE(X, a) \
    X(a, 16, 1) X(a, 32, 1) X(a, 48, 1) X(a, 64, 1) X(a, 80, 1) X(a, 96, 1) \
    X(a, 112, 1) X(a, 128, 1) X(a, 144, 1) X(a, 160, 1) X(a, 176, 1) X(a, 192, 1) \
    X(a, 208, 1) X(a, 224, 1) X(a, 240, 1) X(a, 256, 1) X(a, 288, 1) X(a, 320, 1) \
    X(a, 352, 1) X(a, 384, 1) X(a, 416, 1) X(a, 448, 1) X(a, 480, 1) X(a, 512, 1) \
    X(a, 576, 2) X(a, 640, 2) X(a, 704, 2) X(a, 768, 2) X(a, 832, 2) X(a, 896, 2) \
    X(a, 960, 2) X(a, 1024, 2) X(a, 1152, 2) X(a, 1280, 2) X(a, 1408, 2) X(a, 1536, 2) \
    X(a, 1664, 3) X(a, 1792, 2) X(a, 1920, 2) X(a, 2048, 2) X(a, 2304, 3) X(a, 2560, 3) X(a, 3072, 3) \
    X(a, 3584, 4) X(a, 4096, 4) X(a, 4608, 4) X(a, 5120, 5) X(a, 6144, 3) X(a, 7168, 4) X(a, 8192, 4) \
    X(a, 9216, 8) X(a, 10240, 5) X(a, 12288, 6) X(a, 14336, 7) X(a, 16448, 17) X(a, 20480, 5) X(a, 24576, 3) \
    X(a, 28672, 7) X(a, 32832, 33) CLASS_TABLE_ABOVE(X, a)
#if SLOT_MOST > 32832
#define CLASS_TABLE_ABOVE(X, a) \
    X(a, 40960, 5) X(a, 49152, 3) X(a, 57344, 7) X(a, 65600, 17) X(a, 81920, 5) X(a, 98304, 6) \
    X(a, 114688, 7) X(a, 131136, 17) X(a, 163840, 10) X(a, 196608, 12) X(a, 229376, 14) X(a, 262208, 33)
#else
#define CLASS_TABLE_ABOVE(X, a)
#endif
/* clang-format on */
#endif

/* Each class has a constant named by its size: CLASS_64 and so on. */
#define CLASS_CONSTANT(a, size, units) CLASS_##size,
enum { CLASS_NONE = 0, CLASS_TABLE(CLASS_CONSTANT, 0) CLASS_LIMIT };

struct class_geometry {
    uint64_t reciprocal; /* 2^40 / size, rounded up: slot = offset * reciprocal >> 40, exact for offsets in a slab */
    uint64_t last_word;  /* the bits of the bitmap's last word; all other words have ALL_SLOTS */
    uint32_t size;
    uint16_t slots;
    uint8_t words; /* words of the bitmap */
    uint8_t units;
    bool shares_lines; /* objects are so small that several lie in one cache line: two threads shall not share it */
};

extern const struct class_geometry class_geometry[CLASS_LIMIT];

/* The bytes of the slots of a slab. */
always_inline size_t class_bytes(unsigned class)
{
    return (size_t)class_geometry[class].slots * class_geometry[class].size;
}

/* The bits of a word that has n slots, n from 1 to WORD_SLOTS. */
#define SLOT_BITS(n) (UINT64_MAX >> (64 - (n)))
#define ALL_SLOTS    SLOT_BITS(WORD_SLOTS)

/* The class of a size in granules, rounded up, times 2^CLASS_SCALE: so the fast path gets the offset of the class's
 * magazine without a shift. The index goes from 0 (size 0) to SMALL_MAX / GRANULE_BYTES. */
enum { CLASS_SCALE = 5 };
extern const uint16_t class_scaled_of_granules[SMALL_MAX / GRANULE_BYTES + 1];

always_inline size_t class_scaled_of_size(size_t size)
{
    return class_scaled_of_granules[(size + GRANULE_BYTES - 1) >> GRANULE_SHIFT];
}

/* The class for a size of at most SMALL_MAX. */
always_inline unsigned class_of_size(size_t size)
{
    invariant(size <= SMALL_MAX);
    return (unsigned)(class_scaled_of_size(size) >> CLASS_SCALE);
}

/* The smallest class whose slots have at least size bytes and are aligned to alignment, a power of two. CLASS_NONE when
 * there is none. */
unsigned class_of_aligned(size_t size, size_t alignment);

/* The bits of a whole word of the bitmap. The last word of a slab may have fewer than the others. */
always_inline uint64_t class_word_mask(const struct class_geometry *geometry, unsigned word)
{
    invariant(word < geometry->words);
    return word + 1 == geometry->words ? geometry->last_word : ALL_SLOTS;
}

#endif
