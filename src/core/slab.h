/* A slab: a run of units that holds slots of one size class, and the protocol of its free bitmap.
 *
 * The bitmap is the truth: bit set = the slot is in the slab. Only the holder of an attached slab takes bits; anyone
 * gives them back. `full` counts the words of the bitmap that are whole. `word` holds state, class and epoch in one
 * atomic, and so names the list that the slab belongs to (partial.h), whose lock guards the changes of state.
 *
 *   EMPTY     in the depot, or with the thread that took it out
 *   ATTACHED  one holder's; only it takes bits
 *   FULL      on no list
 *   PARTIAL   on the list of its class and epoch
 *
 * The card of the protocol, with the pairs of orders, is docs/protocols/slab.md.
 *
 * Not here: lists and who looks when (partial.h); magazines (heap.h). */
#ifndef TSLAB_CORE_SLAB_H
#define TSLAB_CORE_SLAB_H

#include "base/atomic.h"
#include "core/arena.h"

enum slab_state { SLAB_EMPTY, SLAB_ATTACHED, SLAB_FULL, SLAB_PARTIAL };

enum { WORD_CLASS_SHIFT = 2, WORD_EPOCH_SHIFT = 10 };

always_inline uint32_t slab_word(enum slab_state state, unsigned class, uint32_t epoch)
{
    return (epoch << WORD_EPOCH_SHIFT) | (class << WORD_CLASS_SHIFT) | state;
}

always_inline enum slab_state word_state(uint32_t word)
{
    return (enum slab_state)(word & 3);
}

always_inline uint32_t word_with_state(uint32_t word, enum slab_state state)
{
    return (word & ~3u) | state;
}

always_inline unsigned word_class(uint32_t word)
{
    return (word >> WORD_CLASS_SHIFT) & 0xff;
}

always_inline uint32_t word_epoch(uint32_t word)
{
    return word >> WORD_EPOCH_SHIFT;
}

/* Makes a run that the caller took from the depot into an attached slab of the caller's, all slots in it. The tag is
 * set last but for `word`. */
void slab_open(uint32_t first, unsigned class, uint32_t epoch, uint32_t affinity);

/* Sets the affinity of a slab that the caller holds attached. */
void slab_set_affinity(struct run *slab, unsigned class, uint32_t affinity);

/* Clears the tags of a slab that the caller claimed (EMPTY); then it may go to the depot. */
void slab_untag(struct run *slab, unsigned class);

/* Gives back the slots of mask in one word of the bitmap: they are nobody's from here on. Returns true when somebody
 * should now look at the slab (partial_evaluate): the caller no longer owns a slot of it, so it may be another's by
 * then. Ends the program on a double free. From any thread. */
bool slab_give(struct run *slab, const struct class_geometry *geometry, unsigned word, uint64_t mask);

/* Takes all slots of one word of the bitmap. Only the holder of an attached slab. Returns the slots taken, 0 when none.
 */
uint64_t slab_take(struct run *slab, const struct class_geometry *geometry, unsigned word);

/* Whether a slot, or every slot, is in the slab right now. */
bool slab_has_any(const struct run *slab, const struct class_geometry *geometry);
bool slab_has_all(const struct run *slab, const struct class_geometry *geometry);

/* The slots that are in the slab right now; only a lower bound while others free. */
unsigned slab_count(const struct run *slab, const struct class_geometry *geometry);

/* Counts `full` anew: for the child of a fork, alone in its process, whose parent was cut between the two writes of a
 * give. */
void slab_recount(struct run *slab, const struct class_geometry *geometry);

/* Where a slot is: slab, word of the bitmap, bit. */
struct slot {
    struct run *slab;
    unsigned word;
    uint64_t mask;
};

/* Whether a slot starts at p, which lies in a unit whose tag says `class`. */
always_inline bool slot_starts(const void *p, unsigned class)
{
    const struct class_geometry *geometry = &class_geometry[class];
    const uint32_t offset = (uint32_t)((const char *)p - arena_address(arena.units[arena_unit(p)].first));
    return offset % geometry->size == 0 && offset / geometry->size < geometry->slots;
}

/* The slot at p, which lies in a unit whose tag says `class`. Ends the program, as a free of it, when p is not the
 * start of a slot. */
always_inline struct slot slot_of(const void *p, unsigned class);

/* The program ends: p lies in a slab but is not the start of a slot. */
_Noreturn void slot_is_interior(const void *p);

always_inline struct slot slot_of(const void *p, unsigned class)
{
    const struct class_geometry *geometry = &class_geometry[class];
    const uint32_t first = arena.units[arena_unit(p)].first;
    const uint32_t offset = (uint32_t)((const char *)p - arena_address(first));
    const uint32_t index = (uint32_t)((offset * geometry->reciprocal) >> 40);
    if (unlikely(index * geometry->size != offset || index >= geometry->slots)) {
        slot_is_interior(p);
    }
    return (struct slot){ &arena.runs[first], index / WORD_SLOTS, (uint64_t)1 << (index % WORD_SLOTS) };
}

#endif
