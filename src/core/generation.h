/* Generations: how often a place has been lent to a handle.
 *
 * A place is an address where a slot of a slab with handles starts. Its generation stands out of line, in the four code
 * bytes (arena.codes) that every such slot has, since sizes with handles are multiples of 64 bytes: while the slot is
 * lent, and with another mark while it is free. The codes of a place that this slab has not lent yet are 0.
 *
 * No two handles of one place ever have the same generation, whatever becomes of the memory in between. So each unit
 * keeps, in a table that is never purged (struct revisit), the highest generation that any place in it has had when
 * its slab ended, and the next slab with handles there goes on from the highest of its units. A place whose generations
 * are used up is not lent again, and a unit whose are serves no slab with handles any more.
 *
 * No chunk has codes like a place's, lent or free, whatever the memory is by the time that somebody looks with an old
 * handle: a code of 128 or more is followed by zeros, and here two of them stand side by side.
 *
 * Threads: whoever owns the run; who lends and who frees a place, as handle.c says; late looks from anywhere. */
#ifndef TSLAB_CORE_GENERATION_H
#define TSLAB_CORE_GENERATION_H

#include "core/chunk.h"
#include "os/fatal.h"

enum {
    GENERATION_MOST = (1 << GENERATION_BITS) - 1,
    PLACE_CODES = 0x8080, /* in the codes of every place that was lent */
    PLACE_LENT = 1 << 28,
    PLACE_ALIGN = 64,
};

/* The codes of a place, as one word. */
always_inline atomic_u32 *place_word(const void *place)
{
    return (atomic_u32 *)(uintptr_t)code_at(place);
}

/* What stands there while the place is free, after it was lent with a generation. */
always_inline uint32_t place_free(uint32_t generation)
{
    return PLACE_CODES | (generation & 0x7f) | (generation >> 7 & 0x7f) << 8 | generation >> 14 << 16;
}

/* And while it is lent. */
always_inline uint32_t place_lent(uint32_t generation)
{
    return place_free(generation) | PLACE_LENT;
}

/* The generation that the place was lent with last; its word is not 0. */
always_inline uint32_t place_generation(uint32_t word)
{
    return (word & 0x7f) | (word >> 8 & 0x7f) << 7 | (word >> 16 & 0xfff) << 14;
}

/* The generation with which a free place of a slab is to be lent next; 0: they are used up. */
always_inline uint32_t place_next(const void *place, const struct run *slab)
{
    const uint32_t word = load_plain(place_word(place));
    const uint32_t last = word == 0 ? revisit_of(slab)->generation : place_generation(word);
    invariant((word & PLACE_LENT) == 0 && last <= GENERATION_MOST);
    return last == GENERATION_MOST ? 0 : last + 1;
}

/* Makes a run, which is the caller's, ready for a slab with handles; false: the generations of a unit are used up, and
 * nothing has changed. */
bool generation_begin(uint32_t first, uint32_t units);

/* A slab with handles ends, and is the caller's: its units keep the highest generation, and its codes are 0. */
void generation_end(uint32_t first, unsigned class);

#endif
