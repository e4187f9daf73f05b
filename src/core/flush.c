/* Slots that were freed one after another tend to lie in one word of a bitmap, so each is compared with that of its
 * neighbour alone (docs/decisions/magazines.md). */
#include "core/flush.h"

#include "core/misuse.h"
#include "os/fatal.h"

void flush_word(struct run *slab, unsigned class, unsigned word, uint64_t mask)
{
    invariant(class != CLASS_NONE && class < CLASS_LIMIT && word < class_geometry[class].words);
    invariant(mask != 0 && (mask & ~class_word_mask(&class_geometry[class], word)) == 0);
    if (slab_give(slab, &class_geometry[class], word, mask)) {
        partial_evaluate(slab);
    }
}

noinline void flush_slots(unsigned class, void *const *slots, size_t n)
{
    const struct class_geometry *const geometry = &class_geometry[class];
    const uint64_t reciprocal = geometry->reciprocal;
    const size_t size = geometry->size;
    void *const *const end = slots + n;
    while (slots != end) {
        struct slot group = slot_of(*slots, class);
        invariant(tag_class(load_plain(&arena.units[run_index(group.slab)].tag)) == class);
        /* The slots that share the word. */
        const unsigned first = group.word * WORD_SLOTS;
        const char *const start = arena_address(run_index(group.slab)) + first * size;
        const size_t bytes = min_size(WORD_SLOTS, geometry->slots - first) * size;
        while (++slots != end) {
            const size_t offset = (size_t)((const char *)*slots - start);
            if (offset >= bytes) {
                break;
            }
            const uint64_t index = offset * reciprocal >> 40;
            const uint64_t mask = (uint64_t)1 << index;
            if (unlikely(index * size != offset)) {
                slot_is_interior(*slots);
            }
            if (unlikely((group.mask & mask) != 0)) {
                misuse("double free of", *slots);
            }
            group.mask |= mask;
        }
        flush_word(group.slab, class, group.word, group.mask);
    }
}
