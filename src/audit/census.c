/* A run begins where the word of a descriptor says so, because the words of all other units are EMPTY, or where a large
 * block has its tag. */
#include "audit/census.h"

#include "os/clock.h"
#include "os/fatal.h"
#include "os/os.h"
#include "slab/chunk.h"
#include "slab/large.h"
#include "space/pages.h"

static per_thread uint64_t end_us; /* 0: none */

static uint64_t now_us(void)
{
    const struct timespec now = clock_read(CLOCK_MONOTONIC);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

void census_end_in(int ms)
{
    invariant(ms >= CENSUS_NO_END);
    end_us = ms == CENSUS_NO_END ? 0 : now_us() + (uint64_t)ms * 1000;
}

bool census_is_over(void)
{
    return unlikely(end_us != 0) && now_us() >= end_us;
}

/* Whether a run in use begins at a unit with this tag. Sets what the walk knows of it. */
static bool run_begins(struct census_run *run, uint32_t at, uint32_t tag)
{
    const uint32_t word = load_acquire(&arena.runs[at].word);
    *run = (struct census_run){ .first = at, .word = word, .class = tag_class(tag) };
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
    const size_t end = census_is_over() ? 0 : load_acquire(&arena.committed_units);
    for (size_t at = run->first == 0 ? 1 : (size_t)run->first + run->units; at < end; at++) {
        const uint32_t tag = load_acquire(&arena.units[at].tag) & ~(uint32_t)TAG_SAMPLED;
        if (tag != TAG_NONE && run_begins(run, (uint32_t)at, tag)) {
            invariant(run->first == at && run->units != 0);
            return true;
        }
    }
    return false;
}

/* Slabs. */

void census_slab(const struct census_run *run, struct census_slab *slab)
{
    const struct class_geometry *const geometry = &class_geometry[run->class];
    const char *const start = arena_address(run->first);
    const char *const tail = start + class_bytes(run->class);
    const char *const end = start + ((size_t)geometry->units << UNIT_SHIFT);
    struct slot_set free;
    invariant(run->kind == CENSUS_SLAB && run->class != CLASS_NONE);
    slot_set_read(&free, &arena.runs[run->first], geometry);
    *slab = (struct census_slab){ .free_slots = slot_set_count(&free), .tail_gone_bytes = pages_gone_bytes(tail, end) };
    invariant(slab->free_slots <= geometry->slots && run->units == geometry->units);
    const size_t all = pages_gone_bytes(start, end);
    for (struct slot_row row = { .end = 0 }; all != 0 && slot_set_next_row(&free, geometry, &row);) {
        slab->free_gone_bytes +=
            pages_gone_bytes(start + (size_t)row.begin * geometry->size, start + (size_t)row.end * geometry->size);
    }
    const size_t others = slab->free_gone_bytes + slab->tail_gone_bytes;
    invariant(slab->tail_gone_bytes <= (size_t)(end - tail));
    slab->claimed_gone_bytes = all > others ? all - others : 0; /* the holder may claim meanwhile */
}

size_t census_tail_bytes(unsigned class)
{
    const struct class_geometry *const geometry = &class_geometry[class];
    invariant(class != CLASS_NONE && (size_t)geometry->slots * geometry->size <= (size_t)geometry->units << UNIT_SHIFT);
    return ((size_t)geometry->units << UNIT_SHIFT) - (size_t)geometry->slots * geometry->size;
}
