#include "conservation.h"

#include "core/arena.h"
#include "core/current.h"
#include "core/depot.h"
#include "os/os.h"

#include <tslab/tslab.h>

/* For every unit, the slots that are accounted for in the slab that starts there. */
static uint32_t *accounted;
static size_t cached[CLASS_LIMIT];
static size_t live[CLASS_LIMIT];

/* Accounts for the slot at p; every slot may be accounted for only once. */
static void account(const void *p, unsigned class)
{
    CHECK(arena_has_unit(arena_unit(p)));
    CHECK(tag_class(load_plain(&arena.units[arena_unit(p)].tag)) == class);
    const struct slot slot = slot_of(p, class);
    CHECK_SAY((load_plain(&slot.slab->bitmap[slot.word]) & slot.mask) == 0, "%p is free in its slab and also elsewhere",
              p);
    accounted[run_index(slot.slab)]++;
}

static size_t account_chain(void *chain, unsigned class)
{
    size_t n = 0;
    for (void *p = chain; p != NULL; p = *slot_link(p), n++) {
        account(p, class);
    }
    return n;
}

static size_t account_stock(const struct stock_class *stock, unsigned class)
{
    size_t n = 0;
    unsigned slots;
    for (void *chain = stock_first(stock, &slots); chain != NULL; chain = stock_below(chain, &slots)) {
        CHECK(account_chain(chain, class) == slots);
        n += slots;
    }
    return n;
}

static void account_heap(const struct heap *heap)
{
    for (unsigned class = 1; class < CLASS_LIMIT; class ++) {
        const struct heap_class *hc = &heap->class[class];
        const struct magazine *m = &heap->front.magazine[class];
        const size_t in_magazine = account_chain(magazine_head(m), class);
        CHECK(in_magazine + magazine_room(m) == load_plain(&hc->capacity));
        const size_t in_stock = account_stock(&hc->stock, class);
        CHECK(in_stock == counter_get(&hc->stock.slots));
        for (uint64_t bits = load_plain(&hc->claimed); bits != 0; bits &= bits - 1) {
            const char *const p = hc->claimed_start + (size_t)bit_lowest(bits) * class_geometry[class].size;
            CHECK(slot_of(p, class).slab == hc->slab);
            account(p, class);
        }
        cached[class] = in_magazine + in_stock + bit_count(load_plain(&hc->claimed));
        CHECK(cached[class] == heap_cached(heap, class));
    }
}

/* The objects that live; returns how many are large runs of the arena. */
static size_t account_objects(const struct shadow *shadow)
{
    size_t large = 0;
    for (size_t i = 0; i < shadow->count; i++) {
        const char *const start = shadow->objects[i]->start;
        const size_t unit = arena_unit(start);
        const uint32_t tag = arena_has_unit(unit) ? load_plain(&arena.units[unit].tag) : TAG_NONE;
        if (tag == TAG_LARGE) {
            CHECK(start == arena_address((uint32_t)unit));
            CHECK(arena.runs[unit].large_bytes == shadow->objects[i]->usable);
            large++;
        } else {
            CHECK(tag != TAG_NONE);
            account(start, tag_class(tag));
            live[tag_class(tag)]++;
        }
    }
    return large;
}

static void check_slab(const struct run *slab, size_t *listed)
{
    const uint32_t first = run_index(slab);
    const uint32_t tag = load_plain(&arena.units[first].tag);
    const unsigned class = tag_class(tag);
    const struct class_geometry *geometry = &class_geometry[class];
    CHECK(slab->units == geometry->units);
    for (uint32_t i = 0; i < geometry->units; i++) {
        CHECK(load_plain(&arena.units[first + i].tag) == tag);
        CHECK(arena.units[first + i].first == first);
    }
    uint32_t free_slots = 0, whole = 0;
    for (unsigned word = 0; word < geometry->words; word++) {
        const uint64_t bits = load_plain(&slab->bitmap[word]);
        CHECK((bits & ~class_word_mask(geometry, word)) == 0);
        free_slots += bit_count(bits);
        whole += bits == class_word_mask(geometry, word);
    }
    CHECK(load_plain(&slab->full) == whole);
    CHECK(load_plain(&revisit_of(slab)->queued) == 0);
    CHECK_SAY(free_slots + accounted[first] == geometry->slots, "a slab of %u slots of %u bytes: %u free, %u in use",
              geometry->slots, geometry->size, free_slots, accounted[first]);
    const uint32_t word = load_plain(&slab->word);
    CHECK(word_class(word) == class && word_epoch(word) == epoch_process.id);
    switch (word_state(word)) {
    case SLAB_ATTACHED:
        CHECK(front_current->heap->class[class].slab == slab);
        break;
    case SLAB_FULL:
        CHECK(free_slots == 0);
        break;
    case SLAB_PARTIAL:
        CHECK(free_slots > 0 && free_slots < geometry->slots);
        listed[class]++;
        break;
    default:
        CHECK(!"a slab in use is empty");
    }
}

/* Every list of partial slabs has as many as there are, and its lock is free with nothing queued. */
static void check_lists(const size_t *listed)
{
    for (unsigned class = 1; class < CLASS_LIMIT; class ++) {
        const struct partial_list *partial = &epoch_partials(&epoch_process)[class];
        CHECK(load_plain(&partial->lock.word) == 0);
        CHECK(counter_get(&partial->length) == listed[class]);
        uint32_t before = 0;
        size_t n = 0;
        for (uint32_t at = load_plain(&partial->head); at != 0; at = arena.runs[at].next, n++) {
            CHECK(arena.runs[at].prev == before);
            CHECK(load_plain(&arena.runs[at].word) == slab_word(SLAB_PARTIAL, class, epoch_process.id));
            before = at;
        }
        CHECK(n == listed[class]);
    }
}

/* Whether the heap keeps this run for its next large block. */
static bool is_hot(uint32_t first, uint32_t units)
{
    const struct hot_runs *hot = &front_current->heap->hot;
    for (unsigned i = 0; i < HOT_RUNS; i++) {
        if (load_plain(&hot->first[i]) == first) {
            return hot->units[i] == units;
        }
    }
    return false;
}

/* Walks over all runs; returns the large ones. */
static size_t check_arena(void)
{
    size_t units[RUN_KINDS] = { 0 }, listed[CLASS_LIMIT] = { 0 };
    size_t large = 0, hot = 0;
    uint32_t kind_before = RUN_USED;
    for (uint32_t at = 1; at < arena.committed_units; at += arena.runs[at].units) {
        const struct run *run = &arena.runs[at];
        CHECK(run->kind < RUN_KINDS && run->units > 0 && run->units <= arena.committed_units - at);
        CHECK(run->kind < RUN_CLEAN ||
              ((uintptr_t)arena_address(at) % os_page_bytes() == 0 && run->units * UNIT_BYTES % os_page_bytes() == 0));
        CHECK(run->kind == RUN_USED || run->kind != kind_before);
        kind_before = run->kind;
        units[run->kind] += run->units;
        const uint32_t tag = load_plain(&arena.units[at].tag);
        if (run->kind != RUN_USED) {
            for (uint32_t i = 0; i < run->units; i++) {
                CHECK(load_plain(&arena.units[at + i].tag) == TAG_NONE);
            }
            CHECK(word_state(load_plain(&run->word)) == SLAB_EMPTY);
        } else if (tag == TAG_LARGE) {
            large++;
        } else if (tag == TAG_NONE) {
            CHECK_SAY(is_hot(at, run->units), "unit %u is neither in use nor in the depot", at);
            hot += run->units;
        } else {
            check_slab(run, listed);
        }
    }
    for (unsigned kind = 0; kind < RUN_KINDS; kind++) {
        CHECK(units[kind] == counter_get(&depot.units[kind]));
    }
    CHECK(hot == counter_get(&front_current->heap->hot.total));
    check_lists(listed);
    return large;
}

void conservation_check(const struct shadow *shadow)
{
    if (front_current->thread == NULL) {
        return; /* nothing was allocated yet */
    }
    accounted = calloc(arena.committed_units, sizeof accounted[0]);
    CHECK(accounted != NULL);
    memset(live, 0, sizeof live);
    account_heap(front_current->heap);
    const size_t large = account_objects(shadow);
    CHECK(check_arena() == large);
    for (unsigned class = 1; class < CLASS_LIMIT; class ++) {
        struct class_sums sums = { 0 };
        heap_add(front_current->heap, class, &sums);
        CHECK(sums.allocs - sums.frees == live[class]);
    }
    free(accounted);
}

void conservation_check_empty(void)
{
    const struct shadow nothing = { .count = 0 };
    conservation_check(&nothing);
    struct tslab_stats stats;
    tslab_stats_get(&stats);
    CHECK(stats.live_objects == 0 && stats.live_bytes == 0 && stats.large_bytes == 0);
    CHECK(stats.cached_bytes == 0 && stats.slab_bytes == 0 && stats.dirty_bytes == 0);
    CHECK(stats.allocations == stats.frees && stats.slabs_opened == stats.slabs_recycled);
    CHECK(counter_get(&depot.units[RUN_USED]) == 0);
    CHECK(stats.clean_bytes == stats.committed_bytes);
    CHECK(stats.clean_bytes == (arena.committed_units - 1 - counter_get(&depot.units[RUN_ABSENT])) * UNIT_BYTES);
}

bool conservation_has_room_for(size_t bytes)
{
    size_t empty = 0;
    bool absent = false;
    for (uint32_t at = 1; at < arena.committed_units; at += arena.runs[at].units) {
        /* What is absent does not merge with what is not. */
        empty = arena.runs[at].kind == RUN_USED                 ? 0
                : (arena.runs[at].kind == RUN_ABSENT) == absent ? empty + arena.runs[at].units
                                                                : arena.runs[at].units;
        absent = arena.runs[at].kind == RUN_ABSENT;
        if (empty * UNIT_BYTES >= bytes) {
            return true;
        }
    }
    return ((absent ? 0 : empty) + arena.span_units - arena.committed_units) * UNIT_BYTES >= bytes;
}

bool conservation_has_room(unsigned class)
{
    return load_plain(&epoch_partials(&epoch_process)[class].head) != 0 ||
           conservation_has_room_for((size_t)class_geometry[class].units * UNIT_BYTES);
}
