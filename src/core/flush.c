/* A chain is grouped by bitmap word in a small table on the stack; each group becomes one give. */
#include "core/flush.h"

#include "core/magazine.h"
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

enum { GIVE_WAYS = 16 };

/* The groups wait in a small table. A group that finds its place taken by another one gives that one back first. */
noinline uint64_t flush_chain(unsigned class, void *chain)
{
    struct slot waiting[GIVE_WAYS] = { { NULL, 0, 0 } };
    uint64_t slots = 0;
    while (chain != NULL) {
        void *const p = chain;
        chain = *slot_link(p);
        const struct slot slot = slot_of(p, class);
        struct slot *group = &waiting[(run_index(slot.slab) * 5 + slot.word) % GIVE_WAYS];
        if (group->slab == slot.slab && group->word == slot.word) {
            if (unlikely((group->mask & slot.mask) != 0)) {
                misuse("double free of", p);
            }
            group->mask |= slot.mask;
        } else {
            if (group->slab != NULL) {
                flush_word(group->slab, class, group->word, group->mask);
            }
            *group = slot;
        }
        slots++;
    }
    for (unsigned i = 0; i < GIVE_WAYS; i++) {
        if (waiting[i].slab != NULL) {
            flush_word(waiting[i].slab, class, waiting[i].word, waiting[i].mask);
        }
    }
    return slots;
}
