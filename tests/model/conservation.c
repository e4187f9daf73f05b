#include "conservation.h"

#include "audit/verify.h"
#include "malloc/current_thread.h"
#include "os/os.h"
#include "report/statistics.h"
#include "space/arena.h"
#include "space/depot.h"

#include <tslab/tslab.h>

/* For every unit, the slots that are accounted for in the slab that starts there. */
static uint32_t *accounted;
static size_t cached[CLASS_LIMIT];
static size_t live[CLASS_LIMIT];

/* Accounts for the slot at p; every slot may be accounted for only once. */
static void account(void *p, unsigned class, void *context)
{
    size_t *const counts = context;
    CHECK(tag_class(arena_tag(p)) == class);
    const struct slot slot = slot_of(p, class);
    CHECK_SAY((load_plain(&slot.slab->bitmap[slot.word]) & slot.mask) == 0, "%p is free in its slab and also elsewhere",
              p);
    accounted[run_index(slot.slab)]++;
    counts[class]++;
}

static void account_heap(const struct heap *heap)
{
    verify_heap(heap);
    memset(cached, 0, sizeof cached);
    verify_cached(heap, account, cached);
    for (unsigned class = 1; class < CLASS_LIMIT; class ++) {
        CHECK(cached[class] == heap_cached(heap, class));
    }
}

/* The objects that live; returns how many are large runs of the arena. */
static size_t account_objects(const struct shadow *shadow)
{
    size_t large = 0;
    for (size_t i = 0; i < shadow->count; i++) {
        char *const start = shadow->objects[i]->start;
        const size_t unit = arena_unit(start);
        const uint32_t tag = arena_has_unit(unit) ? load_plain(&arena.units[unit].tag) : TAG_NONE;
        if (tag == TAG_LARGE) {
            CHECK(start == arena_address((uint32_t)unit));
            CHECK(arena.runs[unit].large_bytes == shadow->objects[i]->usable);
            large++;
        } else {
            CHECK(tag != TAG_NONE);
            account(start, tag_class(tag), live);
        }
    }
    return large;
}

static void check_slab(const struct run *slab, size_t *listed)
{
    verify_slab_at_rest(slab);
    const uint32_t first = run_index(slab), word = load_plain(&slab->word);
    const unsigned class = word_class(word);
    const struct class_geometry *geometry = &class_geometry[class];
    const uint32_t free_slots = slab_count(slab, geometry);
    CHECK(load_plain(&revisit_of(slab)->queued) == 0);
    CHECK_SAY(free_slots + accounted[first] == geometry->slots, "a slab of %u slots of %u bytes: %u free, %u in use",
              geometry->slots, geometry->size, free_slots, accounted[first]);
    CHECK(word_epoch(word) == epoch_process.id);
    switch (word_state(word)) {
    case SLAB_ATTACHED:
        CHECK(heap_part(front_current->heap, class)->slab == slab);
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
    }
    verify_partials(&epoch_process);
}

/* Whether the heap keeps this run for its next large block. */
static bool is_hot(uint32_t first, uint32_t units)
{
    const struct hot_runs *hot = &front_current->heap->hot;
    for (unsigned i = 0; i < HOT_RUNS; i++) {
        const uint64_t run = load_plain(&hot->run[i]);
        if ((uint32_t)run == first) {
            return hot_run_units(run) == units;
        }
    }
    return false;
}

/* Walks over all runs; returns the large ones. */
static size_t check_arena(void)
{
    size_t listed[CLASS_LIMIT] = { 0 };
    size_t large = 0, hot = 0;
    verify_depot();
    for (uint32_t at = 1; at < arena.committed_units; at += arena.runs[at].units) {
        const struct run *run = &arena.runs[at];
        const uint32_t tag = load_plain(&arena.units[at].tag);
        if (run->kind != RUN_USED) {
            for (uint32_t i = 0; i < run->units; i++) {
                CHECK(load_plain(&arena.units[at + i].tag) == TAG_NONE);
            }
        } else if (tag == TAG_LARGE) {
            large++;
        } else if (tag == TAG_NONE) {
            CHECK_SAY(is_hot(at, run->units), "unit %u is neither in use nor in the depot", at);
            hot += run->units;
        } else {
            check_slab(run, listed);
        }
    }
    CHECK(hot == hot_runs_units(&front_current->heap->hot));
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
        CHECK(sums.allocations - sums.frees == live[class]);
    }
    free(accounted);
}

void conservation_check_empty(void)
{
    const struct shadow nothing = { .count = 0 };
    conservation_check(&nothing);
    struct total_figures stats;
    stats_totals(&stats);
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
