#include "scheduler.h"
#include "space/depot.h"
#include "space/live_bits.h"
#include "space/trap.h"
#include "system.h"
#include "thread/resting.h"
#include "verify.h"
#include "world.h"

#include <stdio.h>

/* The abort of the library, which the rig looks for. */

void (*fatal_prepare)(void); /* the rig has no handlers of SIGABRT */
void (*fatal_explain)(const void *pointer);

void fatal_pointer(const char *what, const void *pointer, const char *about)
{
    sim_fail("the engine says: %s %p%s", what, pointer, about);
}

void fatal(const char *what)
{
    sim_fail("the engine says: %s", what);
}

void fatal_invariant(const char *expression, const char *file, unsigned line)
{
    sim_fail("broken invariant: %s at %s:%u", expression, file, line);
}

static const struct class_geometry *geometry_of(uint32_t word)
{
    return &class_geometry[word_class(word)];
}

/* The lists of the epoch that a slab's word names. */
static const struct partial_list *partials_of(uint32_t word)
{
    return epoch_partials(word_epoch(word) <= EPOCH_PROCESS ? &epoch_process : epochs_record(word_epoch(word)));
}

static bool is_listed(uint32_t unit, uint32_t word)
{
    const unsigned class = word_class(word);
    unsigned length = 0;
    for (uint32_t at = load_plain(&partials_of(word)[class].head); at != 0; at = arena.runs[at].next) {
        if (at == unit) {
            return true;
        }
        if (++length > UNITS_MAX) {
            sim_fail("the list of class %u has no end", class);
        }
    }
    return false;
}

static bool bits_are_whole(const struct run *slab, const struct class_geometry *geometry)
{
    for (unsigned w = 0; w < geometry->words; w++) {
        if (load_plain(&slab->bitmap[w]) != class_word_mask(geometry, w)) {
            return false;
        }
    }
    return true;
}

static bool heap_has(const struct heap *heap, const struct run *slab)
{
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        if (heap_class_of(heap, c)->slab == slab) {
            return true;
        }
    }
    return false;
}

static bool is_attached_somewhere(const struct run *slab)
{
    for (unsigned i = 0; i < world_record_count; i++) {
        if (heap_has(&world_records[i]->heap, slab)) {
            return true;
        }
    }
    const struct heap *heap;
    for (unsigned n = 0; (heap = epochs_heap(n)) != NULL; n++) {
        if (heap_has(heap, slab)) {
            return true;
        }
    }
    return false;
}

/* No object of a user lies there, nor one that a user frees and that is not given yet. */
static void check_nobody_in(uint32_t unit, uint32_t units, const char *when)
{
    for (const struct object *o = world.objects; o < world_objects_end(); o++) {
        if (object_is_in_use(o) && arena_unit(o->address) - unit < units) {
            sim_fail("slab %u %s with a live object of T%d", unit, when, o->owner);
        }
    }
}

static void check_transition(uint32_t unit, uint32_t before, uint32_t now)
{
    static const char *const names[] = { "EMPTY", "ATTACHED", "FULL", "PARTIAL" };
    const struct run *slab = &arena.runs[unit];
    const enum slab_state from = word_state(before);
    const enum slab_state to = word_state(now);
    const struct class_geometry *geometry = geometry_of(now);
    const struct epoch *epoch = word_epoch(before) == 0 ? NULL : epochs_record(word_epoch(before));
    const bool released = epoch != NULL && epoch_word_state(load_plain(&epoch->word)) == EPOCH_FINISHING;
    if (from == SLAB_EMPTY && to == SLAB_EMPTY) {
        return; /* the rest of the word means nothing then */
    }
    const bool has_class = word_class(from == SLAB_EMPTY ? now : before) != CLASS_NONE;
    const bool legal = from == SLAB_EMPTY      ? to == SLAB_ATTACHED
                       : !has_class            ? to == SLAB_EMPTY
                       : from == SLAB_ATTACHED ? to == SLAB_FULL
                       : from == SLAB_FULL     ? to == SLAB_PARTIAL || released
                                               : to == SLAB_ATTACHED || to == SLAB_EMPTY;
    if (!legal || (from != SLAB_EMPTY && to != SLAB_EMPTY && word_class(before) != word_class(now))) {
        sim_fail("slab %u went from %s to %s", unit, names[from], names[to]);
    }
    if (slab->kind != RUN_USED) {
        sim_fail("slab %u went from %s to %s in the depot", unit, names[from], names[to]);
    }
    if (!has_class) {
        check_nobody_in(unit, slab->units, to == SLAB_EMPTY ? "was recycled" : "was opened");
        return;
    }
    if (from != SLAB_EMPTY && (load_plain(&partials_of(now)[word_class(now)].lock.word) & 1) == 0) {
        sim_fail("slab %u went from %s to %s without the lock", unit, names[from], names[to]);
    }
    if (to != SLAB_PARTIAL && is_listed(unit, now)) {
        sim_fail("slab %u went from %s to %s on the list", unit, names[from], names[to]);
    }
    if (from == SLAB_EMPTY || to == SLAB_EMPTY) {
        if (!(to == SLAB_EMPTY && released) &&
            (!bits_are_whole(slab, geometry) || load_plain(&slab->full) != geometry->words)) {
            sim_fail("slab %u went from %s to %s, and not all bits are there", unit, names[from], names[to]);
        }
        check_nobody_in(unit, geometry->units, to == SLAB_EMPTY ? "was claimed" : "was opened");
    }
    if (to == SLAB_EMPTY && is_attached_somewhere(slab)) {
        sim_fail("slab %u was claimed while a heap has it", unit);
    }
}

/* A living object is where it was born. */
static void check_object(const struct object *o)
{
    const void *const p = o->address;
    const uint32_t unit = (uint32_t)arena_unit(p);
    const uint32_t tag = load_plain(&arena.units[unit].tag);
    if (tag_class(tag) != tag_class(o->tag) || (tag_class(tag) == CLASS_NONE && tag != o->tag)) {
        sim_fail("object %p has lost its tag", p);
    }
    if (o->tag == TAG_CHUNK && code_at(p) != size_code_of_size(o->bytes)) {
        sim_fail("object %p has lost its code", p);
    }
    const struct run *run = &arena.runs[unit];
    if (o->tag == TAG_LARGE && (run->kind != RUN_USED || (size_t)run->units << UNIT_SHIFT < o->bytes)) {
        sim_fail("object %p has lost its run", p);
    }
    if (system_forbids(unit)) {
        sim_fail("object %p may not be touched", p);
    }
}

static void check_depot(void)
{
    const size_t dirty = counter_get(&depot.units[RUN_DIRTY]);
    for (int actor = 0; dirty > world.dirty_seen && actor <= BUILDER; actor++) {
        world.dirtied[actor] += actor != sim_self();
    }
    world.dirty_seen = dirty;
    for (int actor = 0; world_is_full() && actor <= BUILDER; actor++) {
        world.flights[actor].was_scarce = true;
    }
}

/* Behind it lies nothing but the inside of the last run, which is in the depot: most units are never taken. Their words
 * are looked at when all is at rest. */
static uint32_t words_end(void)
{
    const uint32_t end = (uint32_t)arena.committed_units;
    const uint32_t last = arena.units[end - 1].first;
    return last != 0 && last < end && arena.runs[last].kind != RUN_USED ? last + 1 : end;
}

void oracle_step(void)
{
    for (struct flight *f = world.flights; f < world.flights + ACTORS; f++) {
        f->given |= f->frees != NULL && flight_has_landed(f);
    }
    for (const struct object *o = world.objects; o < world_objects_end(); o++) {
        if (o->address != NULL && !o->leaves) {
            check_object(o);
        }
    }
    check_depot();
    epochs_step();
    if (arena.committed_units > UNITS_MAX) {
        sim_fail("more units than the rig looks at");
    }
    const uint32_t end = words_end();
    for (uint32_t unit = 1; unit < end; unit++) {
        const uint32_t now = load_plain(&arena.runs[unit].word);
        if (now != world.seen[unit]) {
            check_transition(unit, world.seen[unit], now);
            world.seen[unit] = now;
        }
    }
}

/* At rest. */

static char wrong[160];

#define WRONG(...) (snprintf(wrong, sizeof wrong, __VA_ARGS__), wrong)

/* The owner of a slab, of which the laws say nothing. */
static const char *check_slab(uint32_t unit)
{
    const struct run *slab = &arena.runs[unit];
    const uint32_t word = load_plain(&slab->word);
    if ((word_state(word) == SLAB_ATTACHED) != is_attached_somewhere(slab)) {
        return WRONG("slab %u: attached and in a heap are not the same", unit);
    }
    if ((word_state(word) == SLAB_PARTIAL) != is_listed(unit, word)) {
        return WRONG("slab %u: partial and on the list are not the same", unit);
    }
    return NULL;
}

/* Whether a run that is no slab is somebody's. */
static bool is_held_run(uint32_t unit, uint32_t units)
{
    for (unsigned i = 0; i < world_record_count; i++) {
        const struct hot_runs *hot = &world_records[i]->heap.hot;
        for (unsigned place = 0; place < HOT_RUNS; place++) {
            const uint64_t run = load_plain(&hot->run[place]);
            if ((uint32_t)run == unit) {
                return hot_run_units(run) == units;
            }
        }
    }
    if (system_forbids(unit)) {
        return true;
    }
    for (const struct object *o = world.objects; o < world_objects_end(); o++) {
        if (o->address == arena_address(unit) && !o->leaves) {
            return load_plain(&arena.units[unit].tag) == TAG_LARGE;
        }
    }
    for (const struct held_run *run = world.runs; run < world.runs + RUNS_MAX; run++) {
        if (run->first == unit && run->units == units) {
            return true;
        }
    }
    return false;
}

/* Every run is in its place. */
static const char *check_runs(unsigned *lost)
{
    size_t trapped = 0;
    for (uint32_t unit = 1; unit < arena.committed_units;) {
        const struct run *run = &arena.runs[unit];
        const uint32_t word = load_plain(&run->word);
        const bool is_slab = word_state(word) != SLAB_EMPTY;
        const bool is_held = run->kind == RUN_USED && !is_slab && is_held_run(unit, run->units);
        for (uint32_t i = 0; !is_slab && i < run->units; i++) {
            if (load_plain(&arena.units[unit + i].tag) != TAG_NONE && !(i == 0 && run->kind == RUN_USED)) {
                return WRONG("unit %u has a tag and is no slab", unit + i);
            }
            trapped += system_forbids(unit + i);
            if (system_forbids(unit + i) && run->kind != RUN_USED) {
                return WRONG("unit %u is in the depot, and may not be touched", unit + i);
            }
        }
        if (run->kind == RUN_USED && !is_slab && !is_held) {
            if (!world.forked) {
                return WRONG("unit %u is stranded: no slab, and not in the depot", unit);
            }
            ++*lost;
        }
        const char *bad = !is_slab                         ? NULL
                          : word_class(word) == CLASS_NONE ? epochs_check_run(unit, lost)
                                                           : check_slab(unit);
        const uint32_t tag = load_plain(&arena.units[unit].tag);
        const bool has_codes = tag == TAG_CHUNK;
        bad = bad != NULL || has_codes ? bad : epochs_check_codes(unit, run->units);
        if (bad != NULL) {
            return bad;
        }
        unit += run->units;
    }
    for (uint32_t unit = words_end(); unit < arena.committed_units; unit++) {
        if (word_state(load_plain(&arena.runs[unit].word)) != SLAB_EMPTY) {
            return WRONG("unit %u has the word of a slab, and is in the depot", unit);
        }
    }
    if (trapped != counter_get(&trap_units)) {
        return WRONG("%zu units are trapped, and counted are %zu", trapped, (size_t)counter_get(&trap_units));
    }
    return NULL;
}

static const char *check_locks(void)
{
    for (unsigned c = 0; c < CLASS_LIMIT; c++) {
        if (load_plain(&epoch_partials(&epoch_process)[c].lock.word) != 0) {
            return WRONG("the lock of class %u is not free, or its queue not empty", c);
        }
        const struct partial_counters *const lists = &partial_counters[c];
        if (counter_get(&lists->queued) != counter_get(&lists->harvested)) {
            return WRONG("statistics say that slabs of class %u are queued", c);
        }
    }
    for (uint32_t unit = 0; unit < arena.committed_units; unit++) {
        if (load_plain(&arena.revisits[unit].queued) != 0) {
            return WRONG("slab %u is still flagged as queued", unit);
        }
    }
    for (unsigned i = 0; i < world_record_count; i++) {
        if (load_plain(&world_records[i]->gate.lock.word) != 0) {
            return WRONG("a gate was left shut");
        }
    }
    return load_plain(&registry.lock.word) == 0 && load_plain(&depot.lock.word) == 0 &&
                   load_plain(&world.section_lock.word) == 0
               ? NULL
               : WRONG("a lock was left held");
}

static bool is_empty(const struct heap *heap)
{
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        if (heap_class_of(heap, c)->slab != NULL || heap_cached(heap, c) != 0) {
            return false;
        }
    }
    return true;
}

/* In the child of a fork the heaps of the threads that are gone are empty, and their records idle. */
static const char *check_registry(void)
{
    size_t n = 0;
    for (const struct thread *thread = registry.idle; thread != NULL; thread = thread->next) {
        n++;
        if (thread->work.epoch != 0 || thread->work.depth != 0 || thread->scope != NULL) {
            return WRONG("a thread that is gone is still in a unit of work, or inside of an epoch");
        }
        if (!is_empty(&thread->heap) || load_plain(&thread->heap.resting_since_ms) != 0) {
            return WRONG("an idle heap is not empty");
        }
    }
    for (const struct thread *thread = registry.live; thread != NULL; thread = thread->next) {
        n++;
        if (world.forked && thread != sim_front[sim_self()]->thread) {
            return WRONG("a thread that is gone is still on the registry");
        }
    }
    for (unsigned i = 0; i < RESTING; i++) {
        const struct heap *const heap = load_plain(&resting_places[i]);
        n += heap != NULL;
        if (heap != NULL && load_plain(&heap->resting_since_ms) == 0 && !is_empty(heap)) {
            return WRONG("a heap that rests no more is not empty");
        }
    }
    return n == world_record_count ? NULL : WRONG("%zu records on the registry", n);
}

/* Each object of a user is where it was born, and known to live. */
static const char *check_objects(void)
{
    for (const struct object *o = world.objects; o < world_objects_end(); o++) {
        if (o->address != NULL && !o->leaves) {
            check_object(o);
            if (arena_has_unit(arena_unit(o->address)) && !live_bits_have(o->address)) {
                return WRONG("object %p is not known to live", o->address);
            }
        }
    }
    return NULL;
}

const char *oracle_rest(void)
{
    const char *bad = check_locks();
    bad = bad != NULL ? bad : check_registry();
    if (bad != NULL) {
        return bad;
    }
    const size_t nowhere = verify_whole();
    unsigned lost = 0;
    bad = epochs_rest();
    bad = bad != NULL ? bad : check_objects();
    bad = bad != NULL ? bad : check_runs(&lost);
    if (bad != NULL) {
        return bad;
    }
    /* A fork may cut each thread that it leaves behind in one operation, and lose the slot of that. */
    unsigned cut = 0;
    for (int t = 0; t < ACTORS; t++) {
        cut += world.flights[t].on + (world.flights[t].on && world.flights[t].moves);
    }
    return lost > cut || nowhere > cut ? WRONG("%zu slots are nowhere", nowhere + lost) : NULL;
}
