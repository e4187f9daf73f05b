/* Slots that were freed one after another tend to lie in one word of a bitmap, so each is compared with that of its
 * neighbour alone (docs/decisions/magazines.md). Where the slots of a few slabs take turns, several words are gathered
 * at once (docs/decisions/remote-frees.md). */
#include "thread/flush.h"

#include "common/misuse.h"
#include "os/fatal.h"
#include "os/os.h"

void flush_word(struct run *slab, unsigned class, unsigned word, uint64_t mask)
{
    invariant(class != CLASS_NONE && class < CLASS_LIMIT && word < class_geometry[class].words);
    invariant(mask != 0 && (mask & ~class_word_mask(&class_geometry[class], word)) == 0);
    if (slab_give(slab, &class_geometry[class], word, mask)) {
        partial_evaluate(slab);
    }
}

static void flush_rows(unsigned class, void *const *slots, size_t n)
{
    const struct class_geometry *const geometry = &class_geometry[class];
    const uint64_t reciprocal = geometry->reciprocal;
    const size_t size = geometry->size;
    void *const *const end = slots + n;
    while (slots != end) {
        struct slot group = slot_of(*slots, class);
        invariant(tag_class(unit_tag(run_index(group.slab))) == class);
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

/* Slots of one word of a bitmap, which go back together. */
struct word_slots {
    uint32_t first; /* the slab; 0: none */
    uint32_t word;
    uint64_t mask;
};

/* The words that are gathered at once. Each has one place that it may take. */
enum { MIXED_WORDS = 64 };

static unsigned mixed_place(uint32_t first, unsigned word)
{
    return (first * 5 + word) % MIXED_WORDS;
}

static void flush_gathered(unsigned class, const struct word_slots *place)
{
    if (place->first != 0) {
        flush_word(&arena.runs[place->first], class, place->word, place->mask);
    }
}

static noinline void flush_mixed(unsigned class, void *const *slots, size_t n)
{
    struct word_slots words[MIXED_WORDS] = { { 0 } };
    for (size_t i = 0; i < n; i++) {
        const struct slot slot = slot_of(slots[i], class);
        const uint32_t first = run_index(slot.slab);
        struct word_slots *const place = &words[mixed_place(first, slot.word)];
        invariant(first != 0 && tag_class(unit_tag(first)) == class);
        if (place->first != first || place->word != slot.word) {
            flush_gathered(class, place);
            *place = (struct word_slots){ .first = first, .word = slot.word };
        }
        if (unlikely((place->mask & slot.mask) != 0)) {
            misuse("double free of", slots[i]);
        }
        place->mask |= slot.mask;
    }
    for (unsigned i = 0; i < MIXED_WORDS; i++) {
        flush_gathered(class, &words[i]);
    }
}

bool flush_mixes_slabs(unsigned class, void *const *slots, size_t n)
{
    enum { TURNS_FROM = 2 };
    uint32_t seen[MIXED_WORDS] = { 0 };
    uint32_t last = 0;
    unsigned turns = 0, slabs = 0;
    invariant(class != CLASS_NONE && class < CLASS_LIMIT);
    if (n < MIXED_FROM || class_geometry[class].slots < MIXED_FROM || !os_has_threads()) {
        return false;
    }
    for (unsigned i = 0; i < MIXED_FROM; i++) {
        const uint32_t first = arena.units[arena_unit(slots[i])].first;
        uint32_t *const place = &seen[mixed_place(first, 0)];
        turns += first != last;
        slabs += first != *place;
        *place = last = first;
    }
    invariant(slabs != 0 && turns >= slabs);
    return turns >= TURNS_FROM * slabs;
}

bool flush_is_unordered(unsigned class, void *const *slots, size_t n)
{
    enum { SLOTS_LOOKED = 32, TURNS_MOST = 4 };
    char *const *const at = (char *const *)slots;
    const unsigned looked = (unsigned)min_size(n, SLOTS_LOOKED);
    const ptrdiff_t reach = (ptrdiff_t)class_geometry[class].size * WORD_SLOTS;
    unsigned near = 0, turns = 0;
    bool was_down = false;
    invariant(class != CLASS_NONE && class < CLASS_LIMIT && n != 0);
    for (unsigned i = 1; i < looked; i++) {
        const ptrdiff_t distance = at[i] - at[i - 1];
        near += distance < reach && distance > -reach;
        turns += (distance < 0) != was_down;
        was_down = distance < 0;
    }
    return near * 2 >= looked && turns > TURNS_MOST;
}

void flush_slots(unsigned class, void *const *slots, size_t n)
{
    if (flush_mixes_slabs(class, slots, n)) {
        flush_mixed(class, slots, n);
    } else {
        flush_rows(class, slots, n);
    }
}
