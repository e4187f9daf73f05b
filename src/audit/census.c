/* A run begins where the word of a descriptor says so, because the words of all other units are EMPTY, or where a large
 * block has its tag. */
#include "audit/census.h"

#include "os/fatal.h"
#include "os/os.h"
#include "slab/chunk.h"
#include "slab/large.h"
#include "space/pages.h"

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
    /* The field means something else as soon as the block is gone. */
    return tag == TAG_LARGE && run->units != 0 && load_acquire(&arena.units[at].tag) == tag;
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

/* The bytes of free slots, of the tail and of claimed slots that lie on pages that are not there. */
static void add_gone(const struct run *run, const struct class_geometry *geometry, const struct slot_set *free,
                     struct census_slab *slab)
{
    const char *const start = arena_address(run_index(run));
    const char *const tail = start + (size_t)geometry->slots * geometry->size;
    const char *const end = start + ((size_t)geometry->units << UNIT_SHIFT);
    const size_t all = pages_gone_bytes(start, end);
    slab->tail_gone_bytes = pages_gone_bytes(tail, end);
    for (struct slot_row row = { .end = 0 }; all != 0 && slot_set_next_row(free, geometry, &row);) {
        slab->free_gone_bytes +=
            pages_gone_bytes(start + (size_t)row.begin * geometry->size, start + (size_t)row.end * geometry->size);
    }
    const size_t others = slab->free_gone_bytes + slab->tail_gone_bytes;
    invariant(slab->tail_gone_bytes <= (size_t)(end - tail));
    slab->claimed_gone_bytes = all > others ? all - others : 0; /* the holder may claim meanwhile */
}

void census_slab(const struct census_run *run, struct census_slab *slab)
{
    const struct class_geometry *const geometry = &class_geometry[run->class];
    struct slot_set free;
    invariant(run->kind == CENSUS_SLAB && run->class != CLASS_NONE);
    slot_set_read(&free, &arena.runs[run->first], geometry);
    *slab = (struct census_slab){ .free_slots = slot_set_count(&free) };
    invariant(slab->free_slots <= geometry->slots && run->units == geometry->units);
    add_gone(&arena.runs[run->first], geometry, &free, slab);
}

size_t census_tail_bytes(unsigned class)
{
    const struct class_geometry *const geometry = &class_geometry[class];
    invariant(class != CLASS_NONE && (size_t)geometry->slots * geometry->size <= (size_t)geometry->units << UNIT_SHIFT);
    return ((size_t)geometry->units << UNIT_SHIFT) - (size_t)geometry->slots * geometry->size;
}

/* The slots that lie on a page, and how many of them are used. The last page may have none. */
static void add_page(const struct slot_set *free, const struct class_geometry *geometry, size_t from, size_t to,
                     struct census_class *sum)
{
    const unsigned begin = (unsigned)(from / geometry->size);
    const unsigned end = (unsigned)min_size((to + geometry->size - 1) / geometry->size, geometry->slots);
    unsigned used = 0;
    for (unsigned slot = begin; slot < end; slot++) {
        used += !slot_set_has(free, slot);
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
    struct slot_set free;
    invariant(bytes % page == 0 && run->units == geometry->units);
    slot_set_read(&free, &arena.runs[run->first], geometry);
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
        sum->untouched_bytes += slab.free_gone_bytes + slab.tail_gone_bytes;
        if (pages) {
            add_pages(&run, sum);
        }
    }
    invariant(sum->full + sum->empty <= sum->slabs && sum->held <= sum->slabs);
    invariant(sum->used_slots + sum->free_slots == sum->slabs * slots);
    sum->partial = sum->slabs - sum->full - sum->empty;
    invariant(sum->free_pages <= sum->pages && sum->kept_1 <= sum->kept_2 && sum->kept_2 <= sum->kept_4);
}
