/* A slab: a run of units that has slots of one size class, and the protocol of its free bitmap.
 *
 * The bitmap is the truth: a set bit means that the slot is in the slab. Only the holder of an attached slab takes
 * bits. Any thread gives them back. `full` counts the words of the bitmap that are whole. `word` has state, class and
 * epoch in one atomic, and so names the list that the slab belongs to (partial_list.h). The lock of that list guards
 * the changes of state.
 *
 *   EMPTY     in the depot, or owned by the thread that took it out
 *   ATTACHED  owned by one holder, the only thread that takes bits
 *   FULL      on no list; no slot is in it
 *   PARTIAL   on the list of its class and epoch
 *
 * The protocol's card, with the pairs of orders, is docs/protocols/slab.md.
 *
 * Not here: lists, and who looks when (partial_list.h), nor magazines (heap.h). Threads: any, as each function says. */
#ifndef TSLAB_SLAB_SLAB_H
#define TSLAB_SLAB_SLAB_H

#include "base/atomic.h"
#include "space/arena.h"

enum slab_state { SLAB_EMPTY, SLAB_ATTACHED, SLAB_FULL, SLAB_PARTIAL };

enum { WORD_CLASS_SHIFT = 2, WORD_EPOCH_SHIFT = 10 };

always_inline uint32_t slab_word(enum slab_state state, unsigned class, uint32_t epoch)
{
    invariant(class < CLASS_LIMIT && epoch <= UINT32_MAX >> WORD_EPOCH_SHIFT);
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

/* Makes a run that the caller took from the depot a slab that the caller holds attached, with all slots in it. Sets the
 * tags, and after them `word`. clean: the run reads as zero. */
void slab_open(uint32_t first, unsigned class, uint32_t epoch, uint32_t affinity, bool clean);

/* Sets the affinity of a slab that the caller holds attached. */
void slab_set_affinity(struct run *slab, unsigned class, uint32_t affinity);

/* Gives back the slots of mask in one word of the bitmap. The caller no longer owns them, so the slab may have another
 * owner when the function returns. Returns true when the caller must now look at the slab (partial_evaluate). Ends the
 * program on a double free. Any thread. */
bool slab_give(struct run *slab, const struct class_geometry *geometry, unsigned word, uint64_t mask);

/* Takes all slots of one word of the bitmap. Only the holder of an attached slab. Returns the slots, 0 for none. */
uint64_t slab_take(struct run *slab, const struct class_geometry *geometry, unsigned word);

/* Whether the slots that were just taken from a word are handed out for the first time since the run was clean, and so
 * read as zero. False from then on. The holder. */
always_inline bool slab_was_fresh(struct run *slab, unsigned word)
{
    const bool fresh = (slab->fresh_words >> word & 1) != 0;
    owned_store(&slab->fresh_words, slab->fresh_words & (uint16_t) ~(1u << word));
    return fresh;
}

/* Whether a slot, or every slot, is in the slab right now. */
bool slab_has_any(const struct run *slab, const struct class_geometry *geometry);
bool slab_has_all(const struct run *slab, const struct class_geometry *geometry);

/* The number of slots that are in the slab right now: a lower bound while other threads free. */
unsigned slab_count(const struct run *slab, const struct class_geometry *geometry);

/* Counts `full` anew. For the child of a fork, which is alone in its process: a thread of the parent may have been
 * interrupted between the two writes of a give. */
void slab_recount(struct run *slab, const struct class_geometry *geometry);

/* The place of a slot: slab, word of the bitmap, bit. */
struct slot {
    struct run *slab;
    unsigned word;
    uint64_t mask;
};

/* Whether a slot starts at p, which lies in a unit whose tag names `class`. */
always_inline bool slot_starts(const void *p, unsigned class)
{
    const struct class_geometry *geometry = &class_geometry[class];
    const uint32_t offset = (uint32_t)((const char *)p - arena_address(arena.units[arena_unit(p)].first));
    return offset % geometry->size == 0 && offset / geometry->size < geometry->slots;
}

/* Ends the program: p lies in a slab, but is not the start of a slot. */
_Noreturn void slot_is_interior(const void *p);

/* The slot at p, which lies in a unit whose tag names `class`. Ends the program when p is not the start of a slot: it
 * is an invalid free. */
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
