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
    uint32_t count;
};

static bool bits_have(const struct bits *bits, unsigned slot)
{
    return (bits->word[slot / WORD_SLOTS] >> (slot % WORD_SLOTS) & 1) != 0;
}

/* The free slots of a slab, in words of these numbers. */
static void bits_read(struct bits *bits, const struct run *slab, const struct class_geometry *geometry, uint32_t words)
{
    memset(bits, 0, sizeof *bits);
    for (unsigned w = 0; w < geometry->words; w++) {
        bits->word[w] = (words >> w & 1) != 0 ? load_plain(&slab->bitmap[w]) : 0;
        bits->count += bit_count(bits->word[w]);
    }
    invariant(bits->count <= geometry->slots);
}

/* The whole pages in rows of these slots. tail: what is behind the last slot belongs to its row. */
static uint64_t pages_in_rows(const struct bits *bits, const struct class_geometry *geometry, bool tail)
{
    const size_t page = os_page_bytes(), size = geometry->size;
    uint64_t bytes = 0;
    for (unsigned slot = 0; slot < geometry->slots;) {
        unsigned end = slot;
        while (end < geometry->slots && bits_have(bits, end)) {
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
    const uint32_t purged = owned_load(&slab->purged_slots);
    if (purged == 0) {
        return 0;
    }
    const uint32_t fresh_words = owned_load(&slab->fresh_words);
    const bool tail = owned_load(&slab->was_clean) && (fresh_words >> (geometry->words - 1) & 1) != 0;
    struct bits fresh;
    bits_read(&fresh, slab, geometry, fresh_words);
    const uint64_t all = pages_in_rows(free, geometry, tail), never = pages_in_rows(&fresh, geometry, tail);
    const uint64_t others = free->count > fresh.count ? free->count - fresh.count : 0;
    const uint64_t gone = min_size(purged > fresh.count ? purged - fresh.count : 0, others);
    return never + (others == 0 || all < never ? 0 : (all - never) * gone / others);
}

void census_slab(const struct census_run *run, struct census_slab *slab)
{
    const struct class_geometry *const geometry = &class_geometry[run->class];
    struct bits free;
    invariant(run->kind == CENSUS_SLAB && run->class != CLASS_NONE);
    bits_read(&free, &arena.runs[run->first], geometry, UINT32_MAX);
    invariant(free.count <= geometry->slots && run->units == geometry->units);
    slab->free_slots = free.count;
    slab->untouched_bytes = slab_untouched(&arena.runs[run->first], geometry, &free);
}

size_t census_tail_bytes(unsigned class)
{
    const struct class_geometry *const geometry = &class_geometry[class];
    invariant(class != CLASS_NONE && (size_t)geometry->slots * geometry->size <= (size_t)geometry->units << UNIT_SHIFT);
    return ((size_t)geometry->units << UNIT_SHIFT) - (size_t)geometry->slots * geometry->size;
}

enum { PAGE_BYTES_LEAST = 4096, SLAB_PAGES_MOST = (1 << 20) / PAGE_BYTES_LEAST };

static void add_pages(const struct census_run *run, struct census_class *sum)
{
    const struct class_geometry *const geometry = &class_geometry[run->class];
    const size_t page = min_size(os_page_bytes(), UNIT_BYTES), size = geometry->size;
    const size_t pages = ((size_t)geometry->units << UNIT_SHIFT) / page;
    uint16_t used[SLAB_PAGES_MOST] = { 0 }, unused[SLAB_PAGES_MOST] = { 0 };
    struct bits free;
    invariant(pages <= SLAB_PAGES_MOST && page >= PAGE_BYTES_LEAST);
    bits_read(&free, &arena.runs[run->first], geometry, UINT32_MAX);
    for (unsigned slot = 0; slot < geometry->slots; slot++) {
        uint16_t *const counts = bits_have(&free, slot) ? unused : used;
        for (size_t at = slot * size / page; at <= ((slot + 1) * size - 1) / page; at++) {
            counts[at]++;
        }
    }
    sum->pages += pages;
    for (size_t at = 0; at < pages; at++) {
        const bool kept = used[at] != 0 && unused[at] != 0;
        invariant(used[at] + unused[at] <= geometry->slots);
        sum->free_pages += used[at] == 0;
        sum->kept_1 += kept && used[at] <= 1;
        sum->kept_2 += kept && used[at] <= 2;
        sum->kept_4 += kept && used[at] <= 4;
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
