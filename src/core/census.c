/* A run begins where the word of a descriptor says so, because the words of all other units are EMPTY, or where a large
 * block has its tag. */
#include "core/census.h"

#include "core/chunk.h"
#include "core/large.h"
#include "os/fatal.h"
#include "os/os.h"

#include <string.h>

/* Whether a run in use begins at a unit with this tag. Sets what the walk knows of it. */
static bool run_begins(struct census_run *run, uint32_t at, uint32_t tag)
{
    const uint32_t word = load_acquire(&arena.runs[at].word);
    *run = (struct census_run){ .first = at, .tag = tag, .word = word, .class = tag_class(tag) };
    invariant(tag != TAG_NONE && run->class < CLASS_LIMIT);
    if (run->class != CLASS_NONE) {
        run->kind = CENSUS_SLAB;
        run->units = class_geometry[run->class].units;
        return word_state(word) != SLAB_EMPTY && word_class(word) == run->class;
    }
    if (tag == TAG_CHUNK) {
        run->kind = CENSUS_CHUNK;
        run->units = CHUNK_UNITS;
        return word_state(word) == SLAB_ATTACHED && word_class(word) == CLASS_NONE;
    }
    run->kind = CENSUS_LARGE;
    run->large_bytes = owned_load(&arena.runs[at].large_bytes);
    run->units = large_units(run->large_bytes);
    return tag == TAG_LARGE && run->units != 0;
}

bool census_next(struct census_run *run)
{
    const size_t end = load_acquire(&arena.committed_units);
    for (size_t at = run->first == 0 ? 1 : (size_t)run->first + run->units; at < end; at++) {
        const uint32_t tag = load_acquire(&arena.units[at].tag);
        if (tag != TAG_NONE && run_begins(run, (uint32_t)at, tag)) {
            invariant(run->first == at && run->units != 0);
            return true;
        }
    }
    return false;
}

/* Slabs. */

struct bits {
    uint64_t word[BITMAP_WORDS];
};

static bool bits_have(const struct bits *bits, unsigned slot)
{
    return (bits->word[slot / WORD_SLOTS] >> (slot % WORD_SLOTS) & 1) != 0;
}

/* The free slots of a slab, which may be a slab of another class by now. */
static void bits_read(struct bits *bits, const struct run *slab, const struct class_geometry *geometry)
{
    memset(bits, 0, sizeof *bits);
    for (unsigned w = 0; w < geometry->words; w++) {
        bits->word[w] = load_plain(&slab->bitmap[w]) & class_word_mask(geometry, w);
    }
}

/* How many there are, in words of these numbers. */
static uint32_t bits_count(const struct bits *bits, uint32_t words)
{
    uint32_t count = 0;
    for (unsigned w = 0; w < BITMAP_WORDS; w++) {
        count += (words >> w & 1) != 0 ? bit_count(bits->word[w]) : 0;
    }
    return count;
}

/* The whole pages in rows of these slots, in words of these numbers. tail: what is behind the last slot belongs to its
 * row. */
static uint64_t pages_in_rows(const struct bits *bits, uint32_t words, const struct class_geometry *geometry, bool tail)
{
    const size_t page = os_page_bytes(), size = geometry->size;
    uint64_t bytes = 0;
    for (unsigned slot = 0; slot < geometry->slots;) {
        unsigned end = slot;
        while (end < geometry->slots && (words >> (end / WORD_SLOTS) & 1) != 0 && bits_have(bits, end)) {
            end++;
        }
        if (end > slot) {
            const bool last = tail && end == geometry->slots;
            const size_t from = round_up(slot * size, page);
            const size_t to = round_down(last ? (size_t)geometry->units << UNIT_SHIFT : end * size, page);
            bytes += to > from ? to - from : 0;
            invariant(bytes <= (uint64_t)geometry->units << UNIT_SHIFT);
        }
        slot = end + 1;
    }
    return bytes;
}

/* The pages of words that were never handed out have not been touched. Of the other free slots the slab only counts how
 * many have no pages: they are taken to have the same share of the free pages. */
static uint64_t slab_untouched(const struct run *slab, const struct class_geometry *geometry, const struct bits *free)
{
    const uint32_t purged = owned_load(&slab->purged_slots), fresh_words = owned_load(&slab->fresh_words);
    if (purged == 0) {
        return 0;
    }
    const bool tail = owned_load(&slab->was_clean) && (fresh_words >> (geometry->words - 1) & 1) != 0;
    const uint64_t all = pages_in_rows(free, UINT32_MAX, geometry, tail);
    const uint64_t never = pages_in_rows(free, fresh_words, geometry, tail);
    const uint32_t fresh = bits_count(free, fresh_words), others = bits_count(free, ~fresh_words);
    const uint64_t gone = min_size(purged > fresh ? purged - fresh : 0, others);
    invariant(never <= all && fresh + others <= geometry->slots);
    return never + (others == 0 ? 0 : (all - never) * gone / others);
}

void census_slab(const struct census_run *run, struct census_slab *slab)
{
    const struct class_geometry *const geometry = &class_geometry[run->class];
    struct bits free;
    invariant(run->kind == CENSUS_SLAB && run->class != CLASS_NONE);
    bits_read(&free, &arena.runs[run->first], geometry);
    slab->free_slots = bits_count(&free, UINT32_MAX);
    invariant(slab->free_slots <= geometry->slots && run->units == geometry->units);
    slab->untouched_bytes = slab_untouched(&arena.runs[run->first], geometry, &free);
}

size_t census_tail_bytes(unsigned class)
{
    const struct class_geometry *const geometry = &class_geometry[class];
    invariant(class != CLASS_NONE && (size_t)geometry->slots * geometry->size <= (size_t)geometry->units << UNIT_SHIFT);
    return ((size_t)geometry->units << UNIT_SHIFT) - (size_t)geometry->slots * geometry->size;
}

/* The slots that lie on a page, and how many of them are used. The last page may have none. */
static void add_page(const struct bits *free, const struct class_geometry *geometry, size_t from, size_t to,
                     struct census_class *sum)
{
    const unsigned begin = (unsigned)(from / geometry->size);
    const unsigned end = (unsigned)min_size((to + geometry->size - 1) / geometry->size, geometry->slots);
    unsigned used = 0;
    for (unsigned slot = begin; slot < end; slot++) {
        used += !bits_have(free, slot);
    }
    const bool kept = used != 0 && begin + used < end;
    invariant(begin <= end && begin + used <= end);
    sum->pages++;
    sum->free_pages += used == 0;
    sum->kept_1 += kept && used <= 1;
    sum->kept_2 += kept && used <= 2;
    sum->kept_4 += kept && used <= 4;
}

static void add_pages(const struct census_run *run, struct census_class *sum)
{
    const struct class_geometry *const geometry = &class_geometry[run->class];
    const size_t page = min_size(os_page_bytes(), UNIT_BYTES), bytes = (size_t)geometry->units << UNIT_SHIFT;
    struct bits free;
    invariant(bytes % page == 0 && run->units == geometry->units);
    bits_read(&free, &arena.runs[run->first], geometry);
    for (size_t at = 0; at < bytes; at += page) {
        add_page(&free, geometry, at, at + page, sum);
    }
}

void census_class(unsigned class, bool pages, struct census_class *sum)
{
    const uint32_t slots = class_geometry[class].slots;
    invariant(class != CLASS_NONE && class < CLASS_LIMIT);
    memset(sum, 0, sizeof *sum);
    for (struct census_run run = { .first = 0 }; census_next(&run);) {
        if (run.kind != CENSUS_SLAB || run.class != class) {
            continue;
        }
        struct census_slab slab;
        census_slab(&run, &slab);
        sum->slabs++;
        sum->full += slab.free_slots == 0;
        sum->empty += slab.free_slots == slots;
        sum->held += word_state(run.word) == SLAB_ATTACHED;
        sum->free_slots += slab.free_slots;
        sum->used_slots += slots - slab.free_slots;
        sum->untouched_bytes += slab.untouched_bytes;
        if (pages) {
            add_pages(&run, sum);
        }
    }
    invariant(sum->full + sum->empty <= sum->slabs && sum->held <= sum->slabs);
    invariant(sum->used_slots + sum->free_slots == sum->slabs * slots);
    sum->partial = sum->slabs - sum->full - sum->empty;
    invariant(sum->free_pages <= sum->pages && sum->kept_1 <= sum->kept_2 && sum->kept_2 <= sum->kept_4);
}
