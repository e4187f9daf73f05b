/* The operations of the bitmap. A give counts a word that becomes whole, and looks at the state only when its bits may
 * change it. */
#include "slab/slab.h"

#include "common/misuse.h"
#include "common/trace.h"
#include "os/fatal.h"
#include "slab/samples.h"

static void set_tags(uint32_t first, uint32_t n, uint32_t tag)
{
    for (uint32_t i = 0; i < n; i++) {
        store_plain(&arena.units[first + i].tag, tag);
    }
}

void slab_open(uint32_t first, unsigned class, uint32_t epoch, uint32_t affinity, bool clean)
{
    const struct class_geometry *geometry = &class_geometry[class];
    struct run *slab = &arena.runs[first];
    invariant(class != CLASS_NONE && class < CLASS_LIMIT);
    invariant(slab->kind == RUN_USED && slab->units == geometry->units);
    invariant(word_state(load_plain(&slab->word)) == SLAB_EMPTY && load_plain(&arena.units[first].tag) == TAG_NONE);
    for (unsigned w = 0; w < geometry->words; w++) {
        store_relaxed(&slab->bitmap[w], class_word_mask(geometry, w));
    }
    store_relaxed(&slab->full, geometry->words);
    owned_store(&slab->fresh_words, clean ? UINT16_MAX : 0);
    for (uint32_t i = 1; i + 1 < geometry->units; i++) {
        arena.units[first + i].first = first; /* the depot has set both ends */
    }
    set_tags(first, geometry->units, tag_of(class, affinity));
    store_release(&slab->word, slab_word(SLAB_ATTACHED, class, epoch));
    trace_slab_open(arena_address(first), geometry->size, epoch, clean);
}

void slab_set_affinity(struct run *slab, unsigned class, uint32_t affinity)
{
    const uint32_t first = run_index(slab), units = class_geometry[class].units, tag = tag_of(class, affinity);
    invariant(word_state(load_plain(&slab->word)) == SLAB_ATTACHED && word_class(load_plain(&slab->word)) == class);
    if (likely(!samples_were_on())) {
        set_tags(first, units, tag);
        return;
    }
    /* TAG_SAMPLED may come and go meanwhile, and is not touched. */
    for (uint32_t i = 0; i < units; i++) {
        const uint32_t before = unit_tag(first + i);
        (void)fetch_add_plain(&arena.units[first + i].tag, tag - before);
    }
}

static _Noreturn noinline void slab_double_free(const struct run *slab, const struct class_geometry *geometry,
                                                unsigned word, uint64_t twice)
{
    const size_t index = (size_t)word * WORD_SLOTS + bit_lowest(twice);
    misuse("double free of", arena_address(run_index(slab)) + index * geometry->size);
}

bool slab_give(struct run *slab, const struct class_geometry *geometry, unsigned word, uint64_t mask)
{
    invariant(word < geometry->words && mask != 0 && (mask & ~class_word_mask(geometry, word)) == 0);
    /* All of the geometry is read before the bits are given: afterwards the slab may be recycled. */
    const uint64_t whole = class_word_mask(geometry, word);
    const uint32_t words = geometry->words;
    /* The bits are clear, so that adding them sets them. Unlike an or, an add returns the old word in one instruction.
     */
    const uint64_t old = fetch_add_seq_cst(&slab->bitmap[word], mask);
    if (unlikely((old & mask) != 0)) {
        slab_double_free(slab, geometry, word, old & mask);
    }
    if (likely(old != 0 && old + mask != whole)) {
        return false;
    }
    bool look = old == 0;
    if (old + mask == whole) {
        look |= fetch_add_seq_cst(&slab->full, 1) + 1 == words;
    }
    if (!look) {
        return false;
    }
    const enum slab_state state = word_state(load_seq_cst(&slab->word));
    return state == SLAB_FULL || (state == SLAB_PARTIAL && load_seq_cst(&slab->full) == words);
}

uint64_t slab_take(struct run *slab, const struct class_geometry *geometry, unsigned word)
{
    invariant(word_state(load_plain(&slab->word)) == SLAB_ATTACHED && word < geometry->words);
    invariant(&class_geometry[word_class(load_plain(&slab->word))] == geometry);
    if (load_relaxed(&slab->bitmap[word]) == 0) {
        return 0;
    }
    const uint64_t taken = swap_acquire(&slab->bitmap[word], 0);
    invariant((taken & ~class_word_mask(geometry, word)) == 0);
    if (taken == class_word_mask(geometry, word)) {
        (void)fetch_sub_relaxed(&slab->full, 1);
    }
    return taken;
}

bool slab_has_any(const struct run *slab, const struct class_geometry *geometry)
{
    for (unsigned w = 0; w < geometry->words; w++) {
        if (load_seq_cst(&slab->bitmap[w]) != 0) {
            return true;
        }
    }
    return false;
}

bool slab_has_all(const struct run *slab, const struct class_geometry *geometry)
{
    return load_seq_cst(&slab->full) == geometry->words;
}

unsigned slab_count(const struct run *slab, const struct class_geometry *geometry)
{
    unsigned count = 0;
    for (unsigned w = 0; w < geometry->words; w++) {
        count += bit_count(load_relaxed(&slab->bitmap[w]));
    }
    invariant(count <= geometry->slots);
    return count;
}

void slab_recount(struct run *slab, const struct class_geometry *geometry)
{
    uint32_t full = 0;
    for (unsigned w = 0; w < geometry->words; w++) {
        full += load_relaxed(&slab->bitmap[w]) == class_word_mask(geometry, w);
    }
    store_relaxed(&slab->full, full);
}

_Noreturn noinline void slot_is_interior(const void *p)
{
    misuse("free of an interior pointer", p);
}
