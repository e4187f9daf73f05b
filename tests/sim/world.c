#include "world.h"

#include "common/metadata.h"
#include "common/option.h"
#include "epoch/scope.h"
#include "fast.h"
#include "malloc/alloc.h"
#include "malloc/fast.h"
#include "malloc/object.h"
#include "memory.h"
#include "os/os.h"
#include "scheduler.h"
#include "slab/holes.h"
#include "slab/large.h"
#include "space/depot.h"
#include "space/live_bits.h"
#include "space/reclaim.h"
#include "space/trap.h"
#include "system.h"
#include "thread/exchange.h"
#include "thread/idle.h"
#include "thread/keeper.h"
#include "thread/overflow.h"
#include "thread/resting.h"
#include "thread/sampling.h"
#include "verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POST_BOX = 0 /* semaphore: the objects in it */, HANDLER_CLASS = 3, LARGE_ALIGN_ONE = 1000 };
enum {
    LINK_WORDS = 2,
    LINKS_MAX = 256,
    REGIONS_MAX = 32,
    SAVED_BYTES = 192 * 1024,
    META_BYTES = 32 * 1024, /* that a run may take for records */
    UNIT_CODES = UNIT_BYTES / GRANULE_BYTES,
    ARENA_UNITS = UNITS_MAX,
    FULL_UNITS = 12,
    GROWTH_UNITS = 65, /* with which a sweep for holes begins */
};

struct world world;
struct thread *world_records[RECORDS_MAX];
unsigned world_record_count;

/* A copy of all that a run may change: some regions, and what user memory holds: the links of free slots, the stamps of
 * objects and runs. */
struct saved {
    unsigned char bytes[SAVED_BYTES];
    struct {
        uint64_t *at;
        uint64_t words[LINK_WORDS];
    } links[LINKS_MAX];
    unsigned link_count;
    unsigned char meta[META_BYTES];
    size_t meta_used;
    unsigned char codes[UNITS_MAX * UNIT_CODES];
    uint32_t codes_units;
};

/* The records of runs, and the codes of units: only those in reach can have changed. */
static unsigned char *meta_start;
static size_t meta_before;

static size_t meta_used(void)
{
    return meta_start == NULL ? 0 : counter_get(&meta_bytes) - meta_before;
}

static unsigned char *codes_start(void)
{
    return (unsigned char *)(uintptr_t)arena.codes;
}

static struct {
    void *start;
    size_t bytes;
} regions[REGIONS_MAX];
static unsigned region_count;
static struct saved pristine, scenario;

/* All static data of the engine (engine.ld). */
extern char engine_start[], engine_end[];

static void add_region(void *start, size_t bytes)
{
    regions[region_count].start = start;
    regions[region_count++].bytes = bytes;
}

static void save_links(struct saved *saved, uint64_t *at)
{
    if (saved->link_count == LINKS_MAX) {
        sim_fail("more links to save than there is room");
    }
    memcpy(saved->links[saved->link_count].words, at, LINK_WORDS * sizeof *at);
    saved->links[saved->link_count++].at = at;
}

static void save(struct saved *saved)
{
    size_t at = 0;
    for (unsigned i = 0; i < region_count; i++) {
        memcpy(saved->bytes + at, regions[i].start, regions[i].bytes);
        at += regions[i].bytes;
        if (at > SAVED_BYTES) {
            sim_fail("more to save than there is room");
        }
    }
    saved->meta_used = meta_used();
    if (saved->meta_used > META_BYTES || arena.committed_units > UNITS_MAX) {
        sim_fail("more records or units to save than there is room");
    }
    memcpy(saved->meta, meta_start, saved->meta_used);
    saved->codes_units = (uint32_t)arena.committed_units;
    memcpy(saved->codes, codes_start(), (size_t)saved->codes_units * UNIT_CODES);
    saved->link_count = 0;
    for (const struct object *o = world.objects; o < world_objects_end(); o++) {
        if (o->address != NULL && tag_class(o->tag) == CLASS_NONE) {
            save_links(saved, o->address);
        }
    }
    for (uint32_t unit = 1; unit < arena.committed_units; unit++) {
        const uint32_t word = load_plain(&arena.runs[unit].word);
        const struct class_geometry *geometry = &class_geometry[word_class(word)];
        /* Chunks have no slots: their objects are in the ledger. */
        const unsigned slots = word_state(word) == SLAB_EMPTY ? 1 : geometry->slots;
        for (unsigned slot = 0; slot < slots; slot++) {
            save_links(saved, (uint64_t *)(arena_address(unit) + (size_t)slot * geometry->size));
        }
    }
}

static void restore(const struct saved *saved)
{
    const size_t used = meta_used();
    if (used > META_BYTES) {
        sim_fail("a run took more records than the rig can take back");
    }
    memcpy(meta_start, saved->meta, saved->meta_used);
    if (used > saved->meta_used) {
        memset(meta_start + saved->meta_used, 0, used - saved->meta_used);
    }
    const uint32_t units = (uint32_t)min_size(arena.committed_units, UNITS_MAX);
    if (epochs_are_there()) { /* else nobody has written a code */
        memcpy(codes_start(), saved->codes, (size_t)saved->codes_units * UNIT_CODES);
    }
    if (epochs_are_there() && units > saved->codes_units) {
        memset(codes_start() + (size_t)saved->codes_units * UNIT_CODES, 0,
               (size_t)(units - saved->codes_units) * UNIT_CODES);
    }
    size_t at = 0;
    for (unsigned i = 0; i < region_count; i++) {
        memcpy(regions[i].start, saved->bytes + at, regions[i].bytes);
        at += regions[i].bytes;
    }
    for (unsigned i = 0; i < saved->link_count; i++) {
        memcpy(saved->links[i].at, saved->links[i].words, sizeof saved->links[i].words);
    }
}

bool object_is_in_use(const struct object *object)
{
    bool given = false;
    for (const struct flight *f = world.flights; object->leaves && f < world.flights + ACTORS; f++) {
        given |= f->frees == object && f->given;
    }
    return object->address != NULL && !given;
}

static void start_engine(void)
{
    system_start();
    /* Threads that have ended may need two each. Of heaps that rest, one is left each time that a thread begins while
     * another one empties it. */
    for (unsigned i = 0; i < RECORDS_MAX; i++) {
        front_current = &front_none;
        struct thread *thread = current_thread_get();
        if (thread == NULL) {
            sim_fail("the engine does not start");
        }
        world_records[world_record_count++] = thread;
        if (i <= ACTORS) {
            world.fronts[i] = &thread->heap.front;
        }
    }
    front_current = &front_none;
    world.section_lock.rank = RANK_LIST;
    world.in_section = -1;
    /* So that the side tables of all units exist. */
    bool clean;
    depot_put(depot_take(UNITS_MAX, 1, &clean), UNITS_MAX, true);
    meta_start = metadata_alloc(CACHE_LINE);
    meta_before = counter_get(&meta_bytes) - CACHE_LINE;
    add_region(&world, sizeof world);
    add_region(engine_start, (size_t)(engine_end - engine_start));
    add_region(arena.runs, (UNITS_MAX + 1) * sizeof *arena.runs);
    add_region(arena.units, (UNITS_MAX + 1) * sizeof *arena.units);
    add_region(arena.revisits, (UNITS_MAX + 1) * sizeof *arena.revisits);
    add_region(arena.pages, UNITS_MAX + 1);
    add_region(arena.live, UNITS_MAX * UNIT_BYTES / GRANULE_BYTES / 8);
    add_region(&simulated, sizeof simulated);
    for (unsigned i = 0; i < world_record_count; i++) {
        add_region(world_records[i], sizeof *world_records[i]);
    }
    /* An arena of unit 0 alone, which world_set_up has grow. */
    memset(arena.runs, 0, (UNITS_MAX + 1) * sizeof *arena.runs);
    memset(arena.units, 0, (UNITS_MAX + 1) * sizeof *arena.units);
    memset((void *)(uintptr_t)arena.pages, 0, UNITS_MAX + 1);
    memset(&depot, 0, sizeof depot);
    store_plain(&depot.oldest_ms, UINT64_MAX);
    depot.lock.rank = RANK_DEPOT;
    arena.committed_units = 1;
    save(&pristine);
}

/* Has an arena of so many units, empty and clean, that may grow. */
static void grow_to(uint32_t units, uint32_t most)
{
    const uint32_t n = units - 1;
    arena.span_units = max_size(units, most);
    arena.committed_units = units;
    arena.runs[1].units = n;
    arena.units[1].first = arena.units[n].first = 1;
    counter_add(&depot.units[RUN_USED], n);
    counter_add(&depot.short_units, n <= HUGE_RUN_UNITS ? n : 0);
    depot_put(1, n, true);
}

void world_set_up(const struct world_start *start)
{
    if (world_record_count == 0) {
        start_engine();
    }
    restore(&pristine);
    option_values[OPTION_MAGAZINES] = start->magazines;
    option_values[OPTION_RETAIN_BYTES] = start->retains ? 4 * MIB : 0;
    option_values[OPTION_EPOCH_POLICY] = start->policy;
    grow_to(start->units != 0 ? start->units : ARENA_UNITS, start->most);
    for (unsigned i = 0; i < world_record_count; i++) {
        struct heap *heap = &world_records[i]->heap;
        const uint32_t affinity = heap->affinity;
        memset(heap, 0, sizeof *heap);
        heap_start(heap, world_records[i], &world_records[i]->gate, &epoch_process, affinity);
    }
    for (unsigned i = BUILDER + 1; i < world_record_count; i++) {
        thread_close(world_records[i]);
    }
    front_current = world.fronts[BUILDER];
    world_follow(BUILDER, start->setup);
    /* The builder goes. Its record waits for another thread. */
    front_current = &front_none;
    scope_leave_all(world_records[BUILDER]);
    thread_close(world_records[BUILDER]);
    for (uint32_t unit = 1; unit < UNITS_MAX; unit++) {
        world.seen[unit] = load_plain(&arena.runs[unit].word);
    }
    epochs_look();
    for (int i = 0; i < ACTORS; i++) {
        sim_front[i] = world.fronts[i];
    }
    save(&scenario);
}

void world_reset(void)
{
    restore(&scenario);
    for (int i = 0; i < ACTORS; i++) {
        sim_front[i] = world.fronts[i];
    }
}

/* The ledger. */

static uint64_t stamp_of(const void *p)
{
    return ~(uint64_t)(uintptr_t)p;
}

void world_died(struct object *object)
{
    if (object->owner < 0) {
        sim_add_to(POST_BOX, -1); /* nobody can fetch it any more */
    }
    object->address = NULL;
    for (struct flight *f = world.flights; f <= world.flights + BUILDER; f++) {
        f->frees = f->frees == object ? NULL : f->frees;
    }
}

/* Nobody has anything there, but for `self`. */
static void check_free_place(const void *p, size_t bytes, const struct object *self)
{
    for (const struct object *o = world.objects; o < world_objects_end(); o++) {
        const bool overlaps =
            (uintptr_t)p < (uintptr_t)o->address + o->bytes && (uintptr_t)o->address < (uintptr_t)p + bytes;
        if (overlaps && o != self && object_is_in_use(o)) {
            sim_fail("place %p handed out twice: T%d %s it", p, o->owner, o->leaves ? "is about to free" : "has");
        }
    }
    if (system_forbids(arena_unit(p))) {
        sim_fail("place %p handed out, and may not be touched", p);
    }
    for (const struct held_run *run = world.runs; run < world.runs + RUNS_MAX; run++) {
        if (run->first != 0 && (uintptr_t)p < (uintptr_t)arena_address(run->first + run->units) &&
            (uintptr_t)arena_address(run->first) < (uintptr_t)p + bytes) {
            sim_fail("place %p handed out, and T%d has the run", p, run->owner);
        }
    }
}

/* As object_epoch, which is at points: others would run before the object is known here. */
static const struct epoch *epoch_of(const void *p, uint32_t tag)
{
    if (tag != TAG_CHUNK && tag_class(tag) == CLASS_NONE) {
        return epoch_existing(large_epoch(p));
    }
    return epoch_existing(word_epoch(load_plain(&arena.runs[arena.units[arena_unit(p)].first].word)));
}

struct object *world_born(int actor, void *p, size_t bytes)
{
    if (p == NULL) {
        sim_fail("no memory");
    }
    const uint32_t tag = arena_has_unit(arena_unit(p)) ? load_plain(&arena.units[arena_unit(p)].tag) : TAG_NONE;
    if (tag_class(tag) != CLASS_NONE) {
        bytes = class_geometry[tag_class(tag)].size;
    }
    const struct epoch *epoch = epoch_of(p, tag);
    check_free_place(p, bytes, NULL);
    struct object *place = world.objects;
    while (place < world_objects_end() && place->address != NULL) {
        place++;
    }
    if (place == world_objects_end()) {
        if (world.object_places == OBJECTS_MAX) {
            sim_fail("too many objects");
        }
        world.object_places++;
    }
    *place = (struct object){ .address = p, .bytes = bytes, .tag = tag, .owner = actor, .turn = ++world.turn };
    place->epoch = epoch == &epoch_process ? 0 : epoch_value(epoch);
    live_born(place, &world.flights[actor]);
    memory_use(p, bytes);
    *(uint64_t *)p = stamp_of(p);
    memory_release(place);
    return place;
}

static void born(int actor, void *p, size_t bytes)
{
    const struct object *object = world_born(actor, p, bytes);
    if (object->epoch == 0) {
        return;
    }
    const struct epoch_ledger *ledger = &world.epochs;
    for (unsigned i = 0; i < ledger->depth[actor]; i++) {
        if (ledger->inside[actor][i] == object->epoch) {
            return;
        }
    }
    sim_fail("plain malloc lands in an epoch that T%d is not inside of", actor);
}

struct object *world_held_by(int actor, bool newest)
{
    struct object *found = NULL;
    for (struct object *o = world.objects; o < world_objects_end(); o++) {
        if (o->address != NULL && o->owner == actor && !o->leaves &&
            (found == NULL || (o->turn > found->turn) == newest)) {
            found = o;
        }
    }
    return found;
}

/* That of another actor who frees the same, as it happens with handles; NULL: none. */
static const struct flight *flight_of(const struct object *object)
{
    for (const struct flight *f = world.flights; f <= world.flights + BUILDER; f++) {
        if (f->on && f->frees == object) {
            return f;
        }
    }
    return NULL;
}

struct flight *world_take_off(int actor, struct object *object)
{
    const struct flight *other = object == NULL ? NULL : flight_of(object);
    struct flight *flight = &world.flights[actor];
    *flight =
        (struct flight){ .on = true, .allocates = object == NULL, .frees = object, .was_scarce = world_is_full() };
    live_take_off(flight);
    if (other != NULL) {
        flight->word = other->word; /* its slab may be gone by now */
        flight->mask = other->mask;
    } else if (object != NULL && tag_class(object->tag) != CLASS_NONE) {
        const struct slot slot = slot_of(object->address, tag_class(object->tag));
        flight->word = &slot.slab->bitmap[slot.word];
        flight->mask = slot.mask;
    }
    return flight;
}

void world_land(struct flight *flight)
{
    flight->frees = NULL;
    flight->on = false;
}

bool flight_has_landed(const struct flight *flight)
{
    const void *const p = flight->frees->address;
    if (flight->word != NULL) {
        return (load_plain(flight->word) & flight->mask) != 0;
    }
    return flight->frees->tag == TAG_CHUNK ? code_at(p) == 0
                                           : load_plain(&arena.units[arena_unit(p)].tag) != flight->frees->tag;
}

void world_check_stamp(const struct object *object)
{
    if (*(uint64_t *)object->address != stamp_of(object->address)) {
        sim_fail("object %p was written to", object->address);
    }
}

/* A thread that reclaims finds nothing dirty in the end, unless others made something dirty meanwhile. Under the memory
 * model, where nothing orders this after what others did before, it may not know of that. */
void world_reclaim_begins(int actor)
{
    world.dirtied[actor] = 0;
}

void world_reclaim_ends(int actor)
{
    if (world.dirtied[actor] == 0 && counter_get(&depot.units[RUN_DIRTY]) != 0 && !memory_is_watched()) {
        sim_fail("T%d has reclaimed, and %zu units are dirty", actor, (size_t)counter_get(&depot.units[RUN_DIRTY]));
    }
}

/* Operations. */

bool world_is_full(void)
{
    return arena.span_units == ARENA_UNITS &&
           counter_get(&depot.units[RUN_DIRTY]) + counter_get(&depot.units[RUN_CLEAN]) < FULL_UNITS;
}

static void alloc(int actor, unsigned class, bool magazine_alone)
{
    struct flight *flight = world_take_off(actor, NULL);
    const size_t bytes = class_geometry[class].size;
    flight->sampling = magazine_alone ? SAMPLING_BLIND : flight->sampling;
    void *p = magazine_alone ? live_bits_born(sim_fast_alloc(class)) : fast_alloc(bytes);
    world_land(flight);
    if (p != NULL || !(magazine_alone || flight->was_scarce)) {
        born(actor, p, bytes);
    }
}

/* A large object: so many units, and thousands of them for its alignment. */
static void alloc_large(int actor, size_t number)
{
    const size_t bytes = number % LARGE_ALIGN_ONE << UNIT_SHIFT;
    const size_t alignment = max_size(number / LARGE_ALIGN_ONE, 1) << UNIT_SHIFT;
    struct flight *flight = world_take_off(actor, NULL);
    void *p = number < LARGE_ALIGN_ONE ? fast_alloc(bytes) : alloc_aligned(bytes, alignment);
    world_land(flight);
    if (number >= LARGE_ALIGN_ONE && (uintptr_t)p % alignment != 0) {
        sim_fail("%p is not aligned", p);
    }
    if (p != NULL || !flight->was_scarce) {
        born(actor, p, bytes);
    }
}

/* Makes an object so many units large, here or elsewhere, as realloc does. */
static void resize(int actor, struct object *object, size_t units)
{
    const size_t bytes = units == 0 ? class_geometry[1].size : units << UNIT_SHIFT;
    if (object == NULL || object->handle != 0) {
        return;
    }
    void *const p = object->address;
    world_check_stamp(object);
    memory_use(p, object->bytes);
    object->bytes = min_size(object->bytes, bytes); /* the rest is nobody's from now on */
    struct flight *flight = world_take_off(actor, object);
    flight->allocates = flight->moves = true;
    world.live.births++;
    object->leaves = true;
    void *const q = alloc_resized(p, bytes);
    flight->on = false;
    flight->frees = NULL;
    object->leaves = false;
    if (q == NULL && flight->was_scarce) {
        return;
    }
    if (q == NULL) {
        sim_fail("no memory to resize");
    }
    if (*(uint64_t *)q != stamp_of(p)) {
        sim_fail("object %p lost its contents on the way to %p", p, q);
    }
    if (q == p) {
        check_free_place(p, bytes, object);
        memory_use(p, bytes);
        object->bytes = tag_class(object->tag) == CLASS_NONE ? bytes : object->bytes;
        object->sampling = SAMPLING_BLIND;
    } else {
        world_died(object);
        (void)world_born(actor, q, bytes);
    }
}

/* As the slow path does with what its heap may not keep. */
static bool free_direct(void *p, unsigned class)
{
    struct thread *thread = current_thread_get();
    if ((load_plain(&arena.units[arena_unit(p)].tag) & TAG_SAMPLED) != 0) {
        sampling_end(&thread->gate, p);
    }
    overflow_free_direct(&thread->heap, class, p);
    current_thread_put(thread);
    return true;
}

static void free_object(int actor, struct object *object, char how)
{
    if (object == NULL || object->handle != 0) {
        return;
    }
    void *const p = object->address;
    world_check_stamp(object);
    memory_use(p, object->bytes);
    struct flight *flight = world_take_off(actor, object);
    object->leaves = true;
    bool freed = true;
    if (how == 'f' || tag_class(object->tag) == CLASS_NONE) {
        fast_free(p);
    } else {
        live_bits_dies(p);
        freed = how == 'u' ? sim_fast_free(p) : free_direct(p, tag_class(object->tag));
    }
    if (freed) {
        world_died(object);
    } else {
        (void)live_bits_born(p);
        object->leaves = false;
    }
    world_land(flight);
}

static void empty(void)
{
    struct thread *thread = current_thread_get();
    gate_lock(&thread->gate);
    heap_empty(&thread->heap);
    gate_unlock(&thread->gate);
    current_thread_put(thread);
}

/* The keeper looks at heaps, and at nothing else. */
static void look_at_heaps(void)
{
    lock_acquire(&keeper.lock);
    for (struct thread *thread = load_plain(&registry.made); thread != NULL; thread = thread->made_before) {
        if (heap_used(&thread->heap) != 0 && lock_try(&thread->gate.lock)) {
            (void)idle_look(&thread->heap);
            lock_release(&thread->gate.lock);
        }
    }
    lock_release(&keeper.lock);
}

static void look_at_exchange(void)
{
    struct thread *thread = current_thread_get();
    gate_lock(&thread->gate);
    exchange_tick(false);
    (void)resting_look(UINT64_MAX);
    gate_unlock(&thread->gate);
    current_thread_put(thread);
}

static void reclaim(void)
{
    struct thread *thread = current_thread_get();
    gate_lock(&thread->gate);
    (void)reclaim_all();
    gate_unlock(&thread->gate);
    current_thread_put(thread);
}

static void purge_holes(void)
{
    struct thread *thread = current_thread_get();
    gate_lock(&thread->gate);
    (void)holes_purge_all();
    gate_unlock(&thread->gate);
    current_thread_put(thread);
}

static void evaluate_all(void)
{
    struct thread *thread = current_thread_get();
    gate_lock(&thread->gate);
    for (uint32_t unit = 1; unit < arena.committed_units; unit++) {
        partial_evaluate(&arena.runs[unit]);
    }
    gate_unlock(&thread->gate);
    current_thread_put(thread);
}

static void thread_ends(int actor)
{
    struct thread *thread = front_current->thread;
    epochs_thread_ends(actor);
    if (thread != NULL) {
        system_thread_ends(thread);
    }
    front_current = &front_gone;
}

static void fork_process(int actor, char what)
{
    system_fork_prepare();
    if (what == 'j') {
        alloc(actor, HANDLER_CLASS, false); /* as a fork handler of the program may do */
    }
    if (what == 'K') {
        system_fork_parent();
        return;
    }
    sim_freeze_others();
    /* The objects are in the child's memory, too, and nobody else is there to free them. */
    for (struct object *o = world.objects; o < world_objects_end(); o++) {
        if (o->address != NULL && !o->leaves) {
            sim_add_to(POST_BOX, o->owner < 0 ? -1 : 0);
            o->owner = actor;
        }
    }
    for (struct held_run *run = world.runs; run < world.runs + RUNS_MAX; run++) {
        run->owner = actor;
    }
    world.forked = true;
    epochs_forked(actor);
    live_forked();
    system_fork_child();
}

static void take_run(int actor, uint32_t units)
{
    bool clean;
    struct thread *thread = current_thread_get();
    gate_lock(&thread->gate);
    const uint32_t first = depot_take(units, 1, &clean);
    if (first == 0) {
        gate_unlock(&thread->gate);
        current_thread_put(thread);
        return;
    }
    check_free_place(arena_address(first), (size_t)units << UNIT_SHIFT, NULL);
    for (struct held_run *run = world.runs; run < world.runs + RUNS_MAX; run++) {
        if (run->first != 0 && first < run->first + run->units && run->first < first + units) {
            sim_fail("units handed out twice");
        }
    }
    struct held_run *run = world.runs;
    while (run->first != 0) {
        run++;
    }
    *run = (struct held_run){ first, units, actor };
    for (uint32_t i = 0; i < units; i++) {
        *(uint64_t *)arena_address(first + i) = stamp_of(arena_address(first + i));
    }
    memory_use(arena_address(first), (size_t)units << UNIT_SHIFT);
    gate_unlock(&thread->gate);
    current_thread_put(thread);
}

static void put_run(int actor)
{
    for (struct held_run *run = world.runs; run < world.runs + RUNS_MAX; run++) {
        if (run->first != 0 && run->owner == actor) {
            for (uint32_t i = 0; i < run->units; i++) {
                if (*(uint64_t *)arena_address(run->first + i) != stamp_of(arena_address(run->first + i))) {
                    sim_fail("a run in use was written to");
                }
            }
            memory_use(arena_address(run->first), (size_t)run->units << UNIT_SHIFT);
            struct thread *thread = current_thread_get();
            gate_lock(&thread->gate);
            const struct held_run put = *run;
            run->first = 0;
            depot_put(put.first, put.units, false);
            gate_unlock(&thread->gate);
            current_thread_put(thread);
            return;
        }
    }
}

/* A place for each semaphore, by which what came before a post comes before what waited for it. */
static char posted[10];

static void send(int actor)
{
    struct object *object = world_held_by(actor, true);
    if (object != NULL && object->handle == 0) {
        object->owner = -1;
        memory_release(object);
        sim_add_to(POST_BOX, 1);
    }
}

static void receive(int actor)
{
    if (sim_wait_for(POST_BOX)) {
        struct object *object = world_held_by(-1, false);
        object->owner = actor;
        memory_acquire(object);
        sim_add_to(POST_BOX, -1);
    }
}

/* Everyone takes this lock in the same way. Only one may be inside. */
static void visit_section(int actor)
{
    lock_acquire(&world.section_lock);
    if (world.in_section >= 0) {
        sim_fail("T%d and T%d hold one lock", actor, world.in_section);
    }
    world.in_section = actor;
    memory_use(&world.in_section, sizeof world.in_section);
    sim_point();
    world.in_section = -1;
    lock_release(&world.section_lock);
}

static void operate(int actor, char what, int number)
{
    switch (what) {
    case 'a':
    case 'm':
        alloc(actor, (unsigned)number, what == 'm');
        return;
    case 'f':
    case 'F':
        free_object(actor, world_held_by(actor, what == 'F'), 'f');
        return;
    case 'g':
    case 'G':
        free_object(actor, world_held_by(actor, what == 'G'), 'g');
        return;
    case 'u':
        free_object(actor, world_held_by(actor, true), 'u');
        return;
    case 'e':
        empty();
        return;
    case '=':
        memory_time_passes();
        look_at_heaps();
        return;
    case '$':
        look_at_exchange();
        return;
    case '+':
        memory_time_passes();
        (void)keeper_look(true);
        return;
    case 't':
        world_reclaim_begins(actor);
        (void)object_trim();
        world_reclaim_ends(actor);
        return;
    case 'r':
        world_reclaim_begins(actor);
        reclaim();
        world_reclaim_ends(actor);
        return;
    case 'B':
        alloc_large(actor, (size_t)number);
        return;
    case 'Z':
        resize(actor, world_held_by(actor, true), (size_t)number);
        return;
    case 'o':
        counter_add(&depot.fresh_units, GROWTH_UNITS);
        return;
    case 'h':
        purge_holes();
        return;
    case 'v':
        evaluate_all();
        return;
    case 'x':
        thread_ends(actor);
        return;
    case '<':
        front_current = front_current == &front_gone ? &front_none : front_current;
        return;
    case 'k':
    case 'j':
    case 'K':
        fork_process(actor, what);
        return;
    case 'n':
        take_run(actor, (uint32_t)number);
        return;
    case 'b':
        put_run(actor);
        return;
    case 's':
        send(actor);
        return;
    case 'w':
        receive(actor);
        return;
    case 'p':
        memory_release(&posted[number]);
        sim_add_to(number, 1);
        return;
    case 'q':
        if (sim_wait_for(number)) {
            memory_acquire(&posted[number]);
        }
        return;
    case 'l':
        visit_section(actor);
        return;
    default:
        if (epochs_operate(actor, what, number) || live_operate(actor, what, number)) {
            return;
        }
        sim_fail("no such operation: %c", what);
    }
}

void world_follow(int actor, const char *script)
{
    for (const char *at = script; *at != 0;) {
        const char what = *at++;
        int number = 0;
        for (; *at >= '0' && *at <= '9'; at++) {
            number = number * 10 + (*at - '0');
        }
        if (what == '@') {
            world.fronts[actor] = front_current;
            actor = number;
            front_current = world.fronts[actor];
        } else if (what == '>') {
            world_held_by(actor, true)->owner = number;
        } else if (what != ' ') {
            sim_note(what, number);
            operate(actor, what, number);
        }
    }
    if (!sim_is_running()) {
        world.fronts[actor] = front_current;
    }
}

const char *world_tear_down(void)
{
    front_current = world.fronts[BUILDER];
    const char *const live = live_rest();
    if (live != NULL) {
        return live;
    }
    for (struct object *o = world.objects; o < world_objects_end(); o++) {
        if (o->address != NULL && !o->leaves) {
            free_object(BUILDER, o, 'f');
        }
    }
    const char *wrong = epochs_end(current_thread_get());
    for (unsigned i = 0; i < world_record_count; i++) {
        heap_empty(&world_records[i]->heap);
    }
    exchange_tick(true);
    wrong = wrong != NULL ? wrong : live_gone();
    for (struct held_run *run = world.runs; run < world.runs + RUNS_MAX; run++) {
        put_run(run->owner);
    }
    front_current = &front_none;
    wrong = wrong != NULL ? wrong : oracle_rest();
    wrong = wrong != NULL ? wrong : epochs_gone();
    if (wrong == NULL && !world.forked && counter_get(&depot.units[RUN_USED]) != counter_get(&trap_units)) {
        wrong = "all is free, but not all in the depot";
    }
    return wrong;
}
