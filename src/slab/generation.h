/* Generations: how often a place has been lent to a handle.
 *
 * A place is an address where a slot of a slab with handles starts. Its generation is stored out of line, in the first
 * four code bytes of the slot (size_codes.h). Every such slot has four, because sizes with handles are multiples of 64
 * bytes. One mark says that the place is lent, another that it is free. The codes of a place that this slab has not
 * lent yet are 0.
 *
 * No two handles of one place ever have the same generation, whatever becomes of the memory in between. So each unit
 * keeps, in a table that is never purged (struct revisit), the highest generation of any place in it when its slab
 * ended. The next slab with handles there continues from the highest generation of its units. A place whose generations
 * are used up is not lent again. A unit whose generations are used up serves no slab with handles again.
 *
 * A late look with an old handle may find codes of a chunk. They never look like a place's, lent or free: in a chunk a
 * code of 128 or more is followed by zeros, and in a place two such codes stand side by side.
 *
 * Threads: the owner of the run; the threads that lend and free a place, as handle.c says; late looks by any. */
#ifndef TSLAB_SLAB_GENERATION_H
#define TSLAB_SLAB_GENERATION_H

#include "os/fatal.h"
#include "slab/chunk.h"

enum {
    GENERATION_MOST = (1 << GENERATION_BITS) - 1,
    PLACE_CODES = 0x8080, /* set in the codes of each place that was ever lent */
    PLACE_LENT = 1 << 28, /* set while the place is lent */
    PLACE_ALIGN = 64,
};

/* The codes of a place, as one word. */
always_inline atomic_u32 *place_word(const void *place)
{
    return (atomic_u32 *)(uintptr_t)size_code_at(place);
}

/* The word of a free place that was lent with this generation last. */
always_inline uint32_t place_free(uint32_t generation)
{
    return PLACE_CODES | (generation & 0x7f) | (generation >> 7 & 0x7f) << 8 | generation >> 14 << 16;
}

/* The word of a place that is lent with this generation. */
always_inline uint32_t place_lent(uint32_t generation)
{
    return place_free(generation) | PLACE_LENT;
}

/* The generation that a place with this word, which is not 0, was lent with last. */
always_inline uint32_t place_generation(uint32_t word)
{
    invariant((word & PLACE_CODES) == PLACE_CODES);
    return (word & 0x7f) | (word >> 8 & 0x7f) << 7 | (word >> 16 & 0xfff) << 14;
}

/* The generation with which a free place of a slab is to be lent next. 0: its generations are used up. */
always_inline uint32_t place_next(const void *place, const struct run *slab)
{
    const uint32_t word = load_plain(place_word(place));
    const uint32_t last = word == 0 ? revisit_of(slab)->generation : place_generation(word);
    invariant((word & PLACE_LENT) == 0 && last <= GENERATION_MOST);
    return last == GENERATION_MOST ? 0 : last + 1;
}

/* Prepares a run that the caller owns for a slab with handles. False: the generations of a unit are used up, and
 * nothing has changed. */
bool generation_begin(uint32_t first, uint32_t units);

/* Ends a slab with handles that the caller owns: saves the highest generation in its units, and clears its codes. */
void generation_end(uint32_t first, unsigned class);

#endif
