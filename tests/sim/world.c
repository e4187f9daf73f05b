#include "world.h"

#include "core/checked.h"
#include "core/depot.h"
#include "core/fast.h"
#include "core/holes.h"
#include "core/option.h"
#include "core/reclaim.h"
#include "fast.h"
#include "os/os.h"
#include "scheduler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POST_BOX = 0 /* semaphore: the objects in it */, HANDLER_CLASS = 3 };
enum { LINK_WORDS = 2, LINKS_MAX = 256, REGIONS_MAX = 32, SAVED_BYTES = 128 * 1024 };

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
};

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
    saved->link_count = 0;
    for (uint32_t unit = 1; unit < arena.used_units; unit++) {
        const uint32_t word = stat_get(&arena.slabs[unit].word);
        const struct class_geometry *geometry = &class_geometry[word_class(word)];
        const unsigned slots = word_state(word) == SLAB_EMPTY ? 1 : geometry->slots;
        for (unsigned slot = 0; slot < slots; slot++) {
            save_links(saved, (uint64_t *)(arena_address(unit) + (size_t)slot * geometry->size));
        }
    }
}

static void restore(const struct saved *saved)
{
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

/* The operating system of the simulation. */

static uint64_t now_ms(void)
{
    return 1000;
}

/* Pages read as zero afterwards; nobody may own a slot in them, or come by one meanwhile. */
static bool purge(void *start, size_t bytes)
{
    for (int i = 0; i < 2 && sim_is_running(); i++) {
        for (const struct object *o = world.objects; o < world.objects + OBJECTS_MAX; o++) {
            if (object_is_in_use(o) && (uintptr_t)o->address - (uintptr_t)start < bytes) {
                sim_fail("purged under an object");
            }
        }
        for (const struct held_run *run = world.runs; run < world.runs + RUNS_MAX; run++) {
            if (run->first != 0 && (uintptr_t)arena_address(run->first) - (uintptr_t)start < bytes) {
                sim_fail("purged under a run");
            }
        }
        sim_point();
    }
    memset(start, 0, bytes);
    return true;
}

static void start_engine(void)
{
    os_calls.now_ms = now_ms;
    os_calls.purge = purge;
    os_calls.futex_wait = sim_futex_wait;
    os_calls.futex_wake_one = sim_futex_wake_one;
    option_values[OPTION_ARENA_BYTES] = 4 * MIB;
    for (int i = 0; i <= ACTORS; i++) {
        heap_current = &heap_none;
        struct thread *thread = current_enter();
        if (thread == NULL) {
            sim_fail("the engine does not start");
        }
        world_records[world_record_count++] = thread;
        world.heaps[i] = &thread->heap;
    }
    heap_current = &heap_none;
    world.section_lock.rank = RANK_LIST;
    world.in_section = -1;
    /* So that the side tables of all units exist. */
    bool clean;
    depot_put(depot_take(UNITS_MAX, 1, &clean), UNITS_MAX, true);
    add_region(&world, sizeof world);
    add_region(engine_start, (size_t)(engine_end - engine_start));
    add_region(arena.slabs, (UNITS_MAX + 1) * sizeof *arena.slabs);
    add_region(arena.units, (UNITS_MAX + 1) * sizeof *arena.units);
    add_region(arena.live, UNITS_MAX * UNIT_BYTES / GRANULE_BYTES / 8);
    for (unsigned i = 0; i < world_record_count; i++) {
        add_region(world_records[i], sizeof *world_records[i]);
    }
    /* The arena as if nothing had ever been taken out of it. */
    memset(arena.slabs, 0, (UNITS_MAX + 1) * sizeof *arena.slabs);
    memset(arena.units, 0, (UNITS_MAX + 1) * sizeof *arena.units);
    memset(&depot, 0, sizeof depot);
    depot.lock.rank = RANK_DEPOT;
    arena.used_units = 1;
    save(&pristine);
}

void world_set_up(const struct world_start *start)
{
    if (world_record_count == 0) {
        start_engine();
    }
    restore(&pristine);
    option_values[OPTION_MAGAZINES] = start->magazines;
    option_values[OPTION_RETAIN_BYTES] = start->retains ? 4 * MIB : 0;
    for (unsigned i = 0; i < world_record_count; i++) {
        struct heap *heap = &world_records[i]->heap;
        const uint32_t affinity = heap->affinity;
        memset(heap, 0, sizeof *heap);
        heap_start(heap, world_records[i], &epoch_process, affinity);
    }
    heap_current = world.heaps[BUILDER];
    world_follow(BUILDER, start->setup);
    /* The builder goes; its record waits for whoever needs one. */
    heap_current = &heap_none;
    thread_shut(world_records[BUILDER]);
    for (uint32_t unit = 1; unit < UNITS_MAX; unit++) {
        world.seen[unit] = stat_get(&arena.slabs[unit].word);
    }
    for (int i = 0; i < ACTORS; i++) {
        sim_heap[i] = world.heaps[i];
    }
    save(&scenario);
}

void world_reset(void)
{
    restore(&scenario);
    for (int i = 0; i < ACTORS; i++) {
        sim_heap[i] = world.heaps[i];
    }
}

/* The ledger. */

static uint64_t stamp_of(const void *p)
{
    return ~(uint64_t)(uintptr_t)p;
}

static void born(int actor, void *p, unsigned class)
{
    if (p == NULL) {
        sim_fail("no memory");
    }
    struct object *place = NULL;
    for (struct object *o = world.objects; o < world.objects + OBJECTS_MAX; o++) {
        if (o->address == NULL) {
            place = place == NULL ? o : place;
            continue;
        }
        const bool overlaps = (uintptr_t)p < (uintptr_t)o->address + class_geometry[o->class].size &&
                              (uintptr_t)o->address < (uintptr_t)p + class_geometry[class].size;
        if (overlaps && object_is_in_use(o)) {
            sim_fail("slot %p handed out twice: T%d %s it", p, o->owner, o->leaves ? "is about to free" : "has");
        }
    }
    if (place == NULL) {
        sim_fail("too many objects");
    }
    *place = (struct object){ .address = p, .class = class, .owner = actor, .turn = ++world.turn };
    *(uint64_t *)p = stamp_of(p);
}

static struct object *held_by(int actor, bool newest)
{
    struct object *found = NULL;
    for (struct object *o = world.objects; o < world.objects + OBJECTS_MAX; o++) {
        if (o->address != NULL && o->owner == actor && !o->leaves &&
            (found == NULL || (o->turn > found->turn) == newest)) {
            found = o;
        }
    }
    return found;
}

static struct flight *take_off(int actor)
{
    struct flight *flight = &world.flights[actor];
    *flight = (struct flight){ .on = true };
    return flight;
}

/* Operations. */

static void alloc(int actor, unsigned class, bool magazine_alone)
{
    struct flight *flight = take_off(actor);
    flight->allocates = true;
    void *p = magazine_alone ? checked_born(sim_fast_alloc(class)) : fast_alloc(class_geometry[class].size);
    flight->on = false;
    if (p != NULL || !magazine_alone) {
        born(actor, p, class);
    }
}

/* As the slow path does with what its heap may not keep. */
static bool free_direct(void *p, unsigned class)
{
    struct thread *thread = current_enter();
    heap_free_direct(&thread->heap, class, p);
    current_leave(thread);
    return true;
}

static void free_object(int actor, struct object *object, char how)
{
    if (object == NULL) {
        return;
    }
    void *const p = object->address;
    if (*(uint64_t *)p != stamp_of(p)) {
        sim_fail("object %p was written to", p);
    }
    const struct slot slot = slot_of(p, object->class);
    struct flight *flight = take_off(actor);
    flight->frees = object;
    flight->word = &slot.slab->bitmap[slot.word];
    flight->mask = slot.mask;
    object->leaves = true;
    bool freed = true;
    if (how == 'f') {
        fast_free(p);
    } else {
        checked_dies(p);
        freed = how == 'u' ? sim_fast_free(p) : free_direct(p, object->class);
    }
    if (freed) {
        object->address = NULL;
    } else {
        (void)checked_born(p);
        object->leaves = false;
    }
    flight->frees = NULL;
    flight->on = false;
}

static void empty(void)
{
    struct thread *thread = current_enter();
    gate_enter(thread);
    heap_empty(&thread->heap);
    gate_leave(thread);
    current_leave(thread);
}

static void reclaim(void)
{
    struct thread *thread = current_enter();
    gate_enter(thread);
    (void)reclaim_all();
    gate_leave(thread);
    current_leave(thread);
}

static void purge_holes(void)
{
    struct thread *thread = current_enter();
    gate_enter(thread);
    (void)holes_purge_all(&epoch_process);
    gate_leave(thread);
    current_leave(thread);
}

static void evaluate_all(void)
{
    struct thread *thread = current_enter();
    gate_enter(thread);
    for (uint32_t unit = 1; unit < arena.used_units; unit++) {
        partial_evaluate(&arena.slabs[unit]);
    }
    gate_leave(thread);
    current_leave(thread);
}

/* As the destructor of the engine does in its last round. */
static void thread_ends(void)
{
    struct thread *thread = heap_current->thread;
    heap_current = &heap_gone;
    if (thread != NULL) {
        thread_shut(thread);
    }
}

static void fork_process(int actor, char what)
{
    struct thread *self = heap_current->thread;
    thread_fork_prepare(self);
    if (what == 'j' && self != NULL) {
        alloc(actor, HANDLER_CLASS, false); /* as a fork handler of the program may do */
    }
    if (what == 'K') {
        thread_fork_parent(self);
        return;
    }
    sim_freeze_others();
    /* The objects are in the child's memory, too, and nobody else is there to free them. */
    for (struct object *o = world.objects; o < world.objects + OBJECTS_MAX; o++) {
        if (o->address != NULL && !o->leaves) {
            sim_add_to(POST_BOX, o->owner < 0 ? -1 : 0);
            o->owner = actor;
        }
    }
    for (struct held_run *run = world.runs; run < world.runs + RUNS_MAX; run++) {
        run->owner = actor;
    }
    world.forked = true;
    thread_fork_child(self);
}

static void take_run(int actor, uint32_t units)
{
    bool clean;
    struct thread *thread = current_enter();
    gate_enter(thread);
    const uint32_t first = depot_take(units, 1, &clean);
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
    gate_leave(thread);
    current_leave(thread);
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
            struct thread *thread = current_enter();
            gate_enter(thread);
            const struct held_run put = *run;
            run->first = 0;
            depot_put(put.first, put.units, false);
            gate_leave(thread);
            current_leave(thread);
            return;
        }
    }
}

static void send(int actor)
{
    struct object *object = held_by(actor, true);
    if (object != NULL) {
        object->owner = -1;
        sim_add_to(POST_BOX, 1);
    }
}

static void receive(int actor)
{
    if (sim_wait_for(POST_BOX)) {
        held_by(-1, false)->owner = actor;
        sim_add_to(POST_BOX, -1);
    }
}

/* Everyone takes this lock in the same way; only one may be inside. */
static void visit_section(int actor)
{
    lock_acquire(&world.section_lock);
    if (world.in_section >= 0) {
        sim_fail("T%d and T%d hold one lock", actor, world.in_section);
    }
    world.in_section = actor;
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
        free_object(actor, held_by(actor, what == 'F'), 'f');
        return;
    case 'g':
    case 'G':
        free_object(actor, held_by(actor, what == 'G'), 'g');
        return;
    case 'u':
        free_object(actor, held_by(actor, true), 'u');
        return;
    case 'e':
        empty();
        return;
    case 't':
        (void)object_trim();
        return;
    case 'r':
        reclaim();
        return;
    case 'h':
        purge_holes();
        return;
    case 'v':
        evaluate_all();
        return;
    case 'x':
        thread_ends();
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
        sim_add_to(number, 1);
        return;
    case 'q':
        (void)sim_wait_for(number);
        return;
    case 'l':
        visit_section(actor);
        return;
    default:
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
            actor = number;
            heap_current = world.heaps[actor];
        } else if (what == '>') {
            held_by(actor, true)->owner = number;
        } else if (what != ' ') {
            sim_note(what, number);
            operate(actor, what, number);
        }
    }
}

const char *world_tear_down(void)
{
    heap_current = world.heaps[BUILDER];
    for (struct object *o = world.objects; o < world.objects + OBJECTS_MAX; o++) {
        if (o->address != NULL && !o->leaves) {
            free_object(BUILDER, o, 'f');
        }
    }
    for (unsigned i = 0; i < world_record_count; i++) {
        heap_empty(&world_records[i]->heap);
    }
    for (struct held_run *run = world.runs; run < world.runs + RUNS_MAX; run++) {
        put_run(run->owner);
    }
    heap_current = &heap_none;
    const char *wrong = oracle_rest();
    if (wrong == NULL && !world.forked && stat_get(&depot.used_units) != 0) {
        wrong = "all is free, but not all in the depot";
    }
    return wrong;
}
