#include "epochs.h"

#include "epoch/ending.h"
#include "epoch/epoch_alloc.h"
#include "epoch/survivors.h"
#include "fast.h"
#include "malloc/fast.h"
#include "malloc/handle.h"
#include "memory.h"
#include "scheduler.h"
#include "space/depot.h"
#include "space/live_bits.h"
#include "space/trap.h"
#include "system.h"
#include "verify.h"
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The oracle runs before every atomic operation, so it must not do one itself: only looks that are at no point. */

const struct heap *epochs_heap(unsigned n)
{
    for (uint32_t id = EPOCH_PROCESS + 1; id < EPOCH_RECORDS; id++) {
        const struct epoch *epoch = epochs_record(id);
        const struct hold *hold = epoch == NULL ? NULL : load_plain(&epoch->holds);
        for (; hold != NULL; hold = hold_next(hold)) {
            const struct heap *heap = load_plain(&hold->heap);
            if (heap != NULL && n-- == 0) {
                return heap;
            }
        }
    }
    return NULL;
}

static uint64_t word_of(const struct epoch *epoch)
{
    return load_plain(&epoch->word);
}

static struct hold *holds_of(const struct epoch *epoch)
{
    return atomic_load_explicit(&epoch->holds, memory_order_relaxed);
}

static struct thread *holder_of(const struct hold *hold)
{
    return load_plain(&hold->holder);
}

/* The record that a value names, if it is of that generation still, and not FREE. */
struct epoch *epochs_named(uint64_t value)
{
    struct epoch *epoch = epochs_record((uint32_t)(value & bit_mask(EPOCH_GENERATION_SHIFT)));
    return epoch != NULL && epoch_same_generation(word_of(epoch), value) &&
                   epoch_word_state(word_of(epoch)) != EPOCH_FREE
               ? epoch
               : NULL;
}

/* Whether the epoch's objects ended with it. */
static bool has_ended(uint64_t value)
{
    const struct epoch_ledger *ledger = &world.epochs;
    for (unsigned i = 0; i < ledger->ended_count && i < ENDED_MAX; i++) {
        if (ledger->ended[i] == value) {
            return true;
        }
    }
    return false;
}

/* The objects of an epoch that were born up to a turn; those that leave too, or not. */
static unsigned objects_of(uint64_t value, uint32_t turn, bool leaving_too)
{
    unsigned n = 0;
    for (const struct object *o = world.objects; o < world_objects_end(); o++) {
        const uint64_t of = o->handle != 0 ? world.epochs.handles[o->handle - 1].epoch : o->epoch;
        n += o->address != NULL && of == value && o->turn <= turn && (leaving_too || !o->leaves);
    }
    return n;
}

static bool anyone_is_inside(uint64_t value)
{
    for (int actor = 0; actor < INSIDERS; actor++) {
        for (unsigned i = 0; i < world.epochs.depth[actor]; i++) {
            if (world.epochs.inside[actor][i] == value) {
                return true;
            }
        }
    }
    return false;
}

/* Operations. */

uint64_t *epochs_value(int number)
{
    if (number >= EPOCHS_MAX) {
        sim_fail("no such epoch: %d", number);
    }
    memory_acquire(&world.epochs.value[number]);
    return &world.epochs.value[number];
}

struct label epochs_next_label(void)
{
    struct label label;
    snprintf(label.text, sizeof label.text, "e%u", ++world.epochs.labels);
    return label;
}

void epochs_opened(int number, uint64_t value)
{
    if (value == 0) {
        return; /* more are open, or other threads keep them warm, than there are records */
    }
    struct epoch *epoch = epochs_named(value);
    if (epoch == NULL || epochs_state(epoch) != EPOCH_OPEN) {
        sim_fail("an epoch that was just opened is not open");
    }
    char label[EPOCH_LABEL_BYTES];
    (void)epoch_label(epoch, label);
    world.epochs.opened[epoch->id] = value;
    world.epochs.label[epoch->id] = (unsigned)strtoul(label + 1, NULL, 10);
    *epochs_value(number) = value;
    memory_release(epochs_value(number));
}

static void open_epoch(struct thread *thread, int number, enum tslab_policy policy)
{
    const struct label label = epochs_next_label();
    const struct scope_options options = { .label = label.text, .policy = policy, .plain = true };
    epochs_opened(number, scope_open(thread, &options));
}

static void enter_epoch(struct thread *thread, int actor, uint64_t value)
{
    struct epoch_ledger *ledger = &world.epochs;
    const int status = scope_enter(thread, value);
    if (status != TSLAB_OK && status != TSLAB_EXPLICIT) {
        if (status != TSLAB_STALE && status != TSLAB_CLOSED) {
            sim_fail("enter says %d", status);
        }
        return;
    }
    const struct epoch *epoch = epochs_named(value);
    if (epoch == NULL ||
        (epoch_word_state(word_of(epoch)) != EPOCH_OPEN && epoch_word_state(word_of(epoch)) != EPOCH_CLOSED)) {
        sim_fail("T%d has entered an epoch that is over", actor);
    }
    if (ledger->depth[actor] == INSIDE_MAX) {
        sim_fail("scopes are nested too deep");
    }
    ledger->inside[actor][ledger->depth[actor]++] = value;
}

static void leave_epoch(struct thread *thread, int actor, uint64_t value)
{
    struct epoch_ledger *ledger = &world.epochs;
    const unsigned depth = ledger->depth[actor];
    const bool inside = depth > 0 && ledger->inside[actor][depth - 1] == value;
    ledger->depth[actor] -= inside;
    const int status = scope_leave(thread, value);
    if (status != (inside ? TSLAB_OK : TSLAB_NOT_INSIDE)) {
        sim_fail("leave says %d to T%d, which is %s", status, actor, inside ? "inside" : "not inside");
    }
}

/* The figures that a report may have. Under REPORT, the line on stderr says the same. */
struct bounds {
    unsigned before; /* objects when it began, those too that were about to leave */
    uint32_t turn;
    unsigned under_way;
    unsigned label;
};

/* Allocations and frees of others. */
static unsigned others_under_way(int actor)
{
    unsigned n = 0;
    for (int other = 0; other < ACTORS; other++) {
        n += other != actor && world.flights[other].on;
    }
    return n;
}

static struct bounds bounds_begin(int actor, uint64_t value)
{
    const struct epoch *epoch = epochs_named(value);
    return (struct bounds){ objects_of(value, world.turn, true), world.turn, others_under_way(actor),
                            epoch == NULL ? 0 : world.epochs.label[epoch->id] };
}

static void check_survivors(uint64_t survivors, unsigned least, uint64_t most, const char *who)
{
    if (survivors < least || survivors > most) {
        sim_fail("%s tells of %u survivors, and there are %u to %u", who, (unsigned)survivors, least, (unsigned)most);
    }
}

static void bounds_end(const struct bounds *bounds, int actor, uint64_t value, enum tslab_policy policy,
                       const struct tslab_epoch_report *report)
{
    const unsigned under_way = others_under_way(actor);
    uint64_t most = (uint64_t)bounds->before + (world.turn - bounds->turn) + under_way;
    unsigned least = has_ended(value) ? 0 : objects_of(value, bounds->turn, false);
    /* Another thread may be about to allocate one with a handle: what its heap caches is known as of before. */
    if (world.epochs.handles_wanted && (under_way + bounds->under_way > 0 || world.turn != bounds->turn)) {
        most += HANDLES_MAX;
        least = 0;
    }
    check_survivors(report->survivors, least, most, "the report");
    const unsigned told = simulated.told[bounds->label % TOLD_MAX];
    if (bounds->label == 0) {
        return; /* two epochs may have the same label then */
    }
    if (told != 0) {
        check_survivors(told, least, most, "the line");
    } else if (policy == TSLAB_POLICY_REPORT && least > 0) {
        sim_fail("nobody tells who survived");
    }
}

/* The objects of a TRAP epoch that is over lie where nobody may touch anything, for a while. */
static void check_trapped(uint32_t id)
{
    const struct epoch_ledger *ledger = &world.epochs;
    for (size_t unit = 1; unit < UNITS_MAX; unit++) {
        if ((ledger->trapped[id] >> unit & 1) != 0 && !system_forbids(unit) &&
            simulated.forbids + ledger->under_way[id] < ledger->forbids[id] + TRAP_RUNS) {
            sim_fail("unit %u was to be trapped, and is not", (unsigned)unit);
        }
    }
}

/* Closes or releases an epoch, plainly or with report and reclaiming. */
static int end_epoch(struct thread *thread, int actor, uint64_t value, bool releases, bool reclaims)
{
    const struct epoch *epoch = epochs_named(value);
    const enum tslab_policy policy = epoch == NULL ? TSLAB_POLICY_DRAIN : (enum tslab_policy)load_plain(&epoch->policy);
    const uint32_t id = epoch == NULL ? 0 : epoch->id;
    const struct bounds bounds = bounds_begin(actor, value);
    struct tslab_epoch_report report;
    world_reclaim_begins(actor);
    simulated.forbade[actor] = false;
    const int status = (releases ? ending_release : ending_close)(thread, value, reclaims, reclaims ? &report : NULL);
    if (status == TSLAB_OK && reclaims) {
        world_reclaim_ends(actor);
        bounds_end(&bounds, actor, value, policy, &report);
    }
    if (status == TSLAB_OK && policy == TSLAB_POLICY_TRAP) {
        check_trapped(id);
    }
    simulated.forbade[actor] = false;
    return status;
}

static void close_epoch(struct thread *thread, int actor, uint64_t value, bool reclaims)
{
    const int status = end_epoch(thread, actor, value, false, reclaims);
    const struct epoch *epoch = epochs_named(value);
    if (status != TSLAB_OK && status != TSLAB_PENDING && status != TSLAB_CLOSED && status != TSLAB_STALE) {
        sim_fail("close says %d", status);
    }
    if (epoch != NULL && epoch_word_state(word_of(epoch)) == EPOCH_OPEN) {
        sim_fail("closed, and open");
    }
    if (status == TSLAB_OK && anyone_is_inside(value)) {
        sim_fail("close is complete, and somebody is inside");
    }
}

static void release_epoch(struct thread *thread, int actor, uint64_t value, bool reclaims)
{
    const int status = end_epoch(thread, actor, value, true, reclaims);
    if (status == TSLAB_BUSY || status == TSLAB_STALE) {
        return;
    }
    if (status != TSLAB_OK) {
        sim_fail("release says %d", status);
    }
    for (const struct object *o = world.objects; o < world_objects_end(); o++) {
        if (o->address != NULL && o->epoch == value && o->handle == 0) {
            sim_fail("released, and an object is alive");
        }
    }
    if (anyone_is_inside(value)) {
        sim_fail("released, and somebody is inside");
    }
}

/* Whether records are left that nobody keeps. */
static bool has_spare_records(void)
{
    unsigned used = 0;
    for (uint32_t id = EPOCH_PROCESS + 1; id < EPOCH_RECORDS; id++) {
        used += epochs_record(id) != NULL && epoch_word_state(word_of(epochs_record(id))) != EPOCH_FREE;
    }
    for (unsigned i = 0; i < world_record_count; i++) {
        used += world_records[i]->warm_count;
    }
    return used < EPOCH_RECORDS - EPOCH_PROCESS - 2;
}

static void advance_epoch(struct thread *thread, int actor, uint64_t *value)
{
    struct epoch_ledger *ledger = &world.epochs;
    const uint64_t old = *value;
    const unsigned depth = ledger->depth[actor];
    const bool inside = depth > 0 && ledger->inside[actor][depth - 1] == old;
    uint64_t next = old;
    ledger->depth[actor] -= inside;
    const int status = scope_advance(thread, &next, false, NULL);
    if ((status >= 0) != (next != old) || (status == TSLAB_NO_MEMORY && has_spare_records())) {
        sim_fail("advance says %d", status);
    }
    if (next != 0 && inside != (scope_value(thread) == next)) {
        sim_fail("after an advance, T%d is not where it should be", actor);
    }
    if (inside) {
        ledger->inside[actor][ledger->depth[actor]++] = next;
    }
    const uint32_t id = (uint32_t)(next & bit_mask(EPOCH_GENERATION_SHIFT));
    if (next != old && id < EPOCH_RECORDS) {
        ledger->opened[id] = next;
        ledger->label[id] = 0; /* that of the epoch before */
    }
    *value = next;
    memory_release(value);
}

static void alloc_by_name(struct thread *thread, int actor, uint64_t value, size_t bytes, bool in_slab)
{
    struct flight *flight = world_take_off(actor, NULL);
    int status;
    void *p = NULL;
    if (in_slab) {
        struct hold *hold = scope_borrow(thread, value, &status);
        if (hold != NULL) {
            p = epoch_alloc_slot(thread, hold, bytes, GRANULE_BYTES);
            p = live_bits_born(p);
            scope_return(thread, hold);
        }
    } else {
        bool zero;
        p = epoch_alloc_in(thread, value, bytes, 1, &zero, &status);
        if (!has_ended(value)) {
            (void)live_bits_born(p); /* else it was released right afterwards */
        }
    }
    world_land(flight);
    if (p == NULL || has_ended(value)) {
        return; /* it was closed, or released right afterwards */
    }
    if (world_born(actor, p, bytes)->epoch != value) {
        sim_fail("allocated in another epoch than was named");
    }
}

static void alloc_in_chunk(struct thread *thread, int actor, size_t bytes)
{
    struct hold *hold = thread->scope == NULL ? NULL : thread->scope->real;
    if (hold == NULL || load_plain(&hold->heap) != NULL) {
        return;
    }
    struct flight *flight = world_take_off(actor, NULL);
    flight->sampling = SAMPLING_BLIND;
    void *p = live_bits_born(sim_chunk_alloc(&hold->cursor, bytes));
    world_land(flight);
    if (p != NULL) {
        (void)world_born(actor, p, bytes);
    }
}

static void free_in_chunk(const struct thread *thread, int actor)
{
    struct hold *hold = thread->scope == NULL ? NULL : thread->scope->real;
    struct object *object = world_held_by(actor, true);
    if (hold == NULL || object == NULL || object->handle != 0 || arena_tag(object->address) != TAG_CHUNK) {
        return;
    }
    const struct run *const chunk = &arena.runs[arena.units[arena_unit(object->address)].first];
    if (!chunk_is_own(&hold->cursor, object->address) && load_plain(&chunk->chunk.filler) != hold) {
        return;
    }
    world_check_stamp(object);
    memory_use(object->address, object->bytes);
    struct flight *flight = world_take_off(actor, object);
    object->leaves = true;
    live_bits_dies(object->address);
    if (sim_chunk_free(hold, object->address)) {
        hold_recycle_full(object->address);
    }
    world_died(object);
    world_land(flight);
}

static void alloc_with_handle(struct thread *thread, int actor, uint64_t value)
{
    struct epoch_ledger *ledger = &world.epochs;
    struct flight *flight = world_take_off(actor, NULL);
    void *p = NULL;
    int status;
    ledger->handles_wanted = true;
    const uint64_t handle = handle_alloc(thread, value, class_geometry[CLASS_1024].size, &p, &status);
    world_land(flight);
    if (handle == 0) {
        const struct epoch *epoch = epochs_named(value);
        if (status == TSLAB_NO_MEMORY && epoch != NULL && epoch_word_state(word_of(epoch)) == EPOCH_OPEN &&
            has_spare_records()) {
            sim_fail("no memory for a handle");
        }
        return;
    }
    if (has_ended(value)) {
        return;
    }
    struct object *object = world_born(actor, p, class_geometry[CLASS_1024].size);
    if (ledger->handle_count == HANDLES_MAX) {
        sim_fail("too many handles");
    }
    for (unsigned i = 0; i < ledger->handle_count; i++) {
        if (ledger->handles[i].handle == handle) {
            sim_fail("handle %u is given once more", i);
        }
    }
    ledger->handles[ledger->handle_count].handle = handle;
    ledger->handles[ledger->handle_count].epoch = value;
    ledger->handles[ledger->handle_count].object = object;
    object->handle = ++ledger->handle_count;
}

static void free_handle(int actor, int number)
{
    struct epoch_ledger *ledger = &world.epochs;
    if (number >= (int)ledger->handle_count) {
        return;
    }
    struct object *object = ledger->handles[number].object;
    memory_acquire(object);
    struct flight *flight = world_take_off(actor, object);
    if (object != NULL) {
        if (!object->leaves) {
            world_check_stamp(object);
        }
        object->leaves = true;
        ledger->handles[number].leaves = true;
    }
    const bool freed = handle_free(ledger->handles[number].epoch, ledger->handles[number].handle);
    world_land(flight);
    struct object *const now = ledger->handles[number].object;
    if (freed && now == NULL) {
        sim_fail("handle %d was freed twice", number);
    }
    if (freed) {
        ledger->handles[number].object = NULL;
        world_died(now);
    }
    if (!freed && object != NULL && now == object && !has_ended(ledger->handles[number].epoch)) {
        /* Then another thread frees it right now. */
        bool under_way = false;
        for (const struct flight *f = world.flights; f < world.flights + ACTORS; f++) {
            under_way |= f->frees == object;
        }
        if (!under_way) {
            sim_fail("handle %d names an object, and cannot be freed", number);
        }
    }
}

static void look_at_handle(int number)
{
    struct epoch_ledger *ledger = &world.epochs;
    if (number >= (int)ledger->handle_count) {
        return;
    }
    struct object *const before = ledger->handles[number].object;
    void *const place = before == NULL ? NULL : before->address;
    memory_acquire(before);
    /* As long as the release is under way, the object may be seen. */
    const bool ends = has_ended(ledger->handles[number].epoch) && epochs_named(ledger->handles[number].epoch) != NULL;
    const void *p = handle_get(ledger->handles[number].epoch, ledger->handles[number].handle);
    const struct object *const now = ledger->handles[number].object;
    /* A free that nothing orders before this may not be seen. */
    const bool was_free = place == NULL && memory_is_watched();
    if (p != NULL && p != place && !was_free && !ends) {
        sim_fail("handle %d names what is not its object", number);
    }
    if (p == NULL && now != NULL && !ledger->handles[number].leaves && !has_ended(ledger->handles[number].epoch)) {
        sim_fail("handle %d names nothing, and its object is alive", number);
    }
}

static void count(struct thread *thread, uint64_t value)
{
    gate_lock(&thread->gate);
    struct epoch *epoch = epoch_by_value(value);
    if (epoch != NULL) {
        struct survivors sum;
        survivors_count(epoch, &sum);
    }
    gate_unlock(&thread->gate);
}

static void flush(struct thread *thread)
{
    gate_lock(&thread->gate);
    thread_flush_warm(thread);
    epoch_flush_shared_warm();
    gate_unlock(&thread->gate);
}

/* The number's digits: of the epoch, and of the class. */
static size_t size_of(int number)
{
    return class_geometry[number % 10].size;
}

static bool needs_scope(char what)
{
    return strchr("ELMUV()", what) != NULL;
}

bool epochs_operate(int actor, char what, int number)
{
    if (works_operate(actor, what, number)) {
        return true;
    }
    if (strchr("ONPTELCcRdVASMUHDJyz()", what) == NULL) {
        return false;
    }
    struct thread *thread = current_thread_get();
    if (front_current == &front_gone && needs_scope(what)) {
        current_thread_put(thread); /* as the interface refuses it */
        return true;
    }
    switch (what) {
    case 'O':
        open_epoch(thread, number, TSLAB_POLICY_DRAIN);
        break;
    case 'N':
        open_epoch(thread, number, TSLAB_POLICY_REPORT);
        break;
    case 'P':
        open_epoch(thread, number, TSLAB_POLICY_RELEASE);
        break;
    case 'T':
        open_epoch(thread, number, TSLAB_POLICY_TRAP);
        break;
    case 'E':
        enter_epoch(thread, actor, *epochs_value(number));
        break;
    case 'L':
        leave_epoch(thread, actor, *epochs_value(number));
        break;
    case 'C':
    case 'c':
        close_epoch(thread, actor, *epochs_value(number), what == 'c');
        break;
    case 'R':
    case 'd':
        release_epoch(thread, actor, *epochs_value(number), what == 'd');
        break;
    case 'V':
        advance_epoch(thread, actor, epochs_value(number));
        break;
    case 'A':
    case 'S':
        alloc_by_name(thread, actor, *epochs_value(number / 10), size_of(number), what == 'S');
        break;
    case 'M':
        alloc_in_chunk(thread, actor, size_of(number));
        break;
    case 'U':
        free_in_chunk(thread, actor);
        break;
    case 'H':
        alloc_with_handle(thread, actor, *epochs_value(number));
        break;
    case 'D':
        free_handle(actor, number);
        break;
    case 'J':
        look_at_handle(number);
        break;
    case '(':
        scope_pause(thread);
        break;
    case ')':
        (void)scope_resume(thread);
        break;
    case 'y':
        count(thread, *epochs_value(number));
        break;
    default:
        flush(thread);
        break;
    }
    current_thread_put(thread);
    return true;
}

void epochs_thread_ends(int actor)
{
    world.epochs.depth[actor] = 0;
}

void epochs_forked(int actor)
{
    for (int other = 0; other < INSIDERS; other++) {
        world.epochs.depth[other] = other == actor ? world.epochs.depth[other] : 0;
    }
}

/* At every step. */

static const char *const states[] = { "FREE", "OPEN", "CLOSED", "FINISHING", "DRAINING" };

/* All objects of a released epoch end, and nobody may be inside of it then. */
static void end_objects(uint64_t value)
{
    for (struct object *o = world.objects; o < world_objects_end(); o++) {
        if (o->address != NULL && o->epoch == value) {
            if (o->handle != 0) {
                world.epochs.handles[o->handle - 1].object = NULL;
            }
            memory_acquire(o); /* who releases sees to it that nobody uses it any more */
            world_died(o);
        }
    }
}

/* Where objects of an epoch lie that is about to end with them. */
static void note_trapped(uint32_t id, uint64_t value)
{
    world.epochs.forbids[id] = simulated.forbids;
    world.epochs.under_way[id] = 0;
    for (int actor = 0; actor < INSIDERS; actor++) {
        world.epochs.under_way[id] += actor != sim_self() && simulated.forbade[actor];
    }
    world.epochs.trapped[id] = 0;
    for (const struct object *o = world.objects; o < world_objects_end(); o++) {
        if (o->address != NULL && o->epoch == value) {
            world.epochs.trapped[id] |= (uint64_t)1 << arena_unit(o->address);
        }
    }
}

static void check_record(uint32_t id, const struct epoch *epoch, uint64_t before, uint64_t now)
{
    const enum epoch_state from = epoch_word_state(before);
    const enum epoch_state to = epoch_word_state(now);
    const uint64_t value = (now >> EPOCH_GENERATION_SHIFT << EPOCH_GENERATION_SHIFT) | id;
    const bool reopened = (now >> EPOCH_GENERATION_SHIFT) == (before >> EPOCH_GENERATION_SHIFT) + 1;
    bool legal = from == to && (from == EPOCH_OPEN || from == EPOCH_CLOSED);
    legal |= from == EPOCH_OPEN && to == EPOCH_CLOSED && epoch_word_held(before) == epoch_word_held(now);
    legal |= (from == EPOCH_OPEN || from == EPOCH_CLOSED) && to == EPOCH_FINISHING && epoch_word_held(now) == 0;
    legal |= from == EPOCH_FINISHING && (to == EPOCH_DRAINING || to == EPOCH_FREE);
    legal |= from == EPOCH_DRAINING && (to == EPOCH_FINISHING || to == EPOCH_FREE);
    legal = from == EPOCH_FREE ? to == EPOCH_OPEN && reopened : legal && epoch_same_generation(before, now);
    if (!legal) {
        sim_fail("epoch %u went from %s to %s", id, states[from], states[to]);
    }
    unsigned holds = 0;
    for (const struct hold *hold = holds_of(epoch); hold != NULL; hold = hold_next(hold)) {
        holds++;
    }
    if (epoch_word_held(now) > holds + 1) {
        sim_fail("epoch %u counts %u holds of %u", id, (unsigned)epoch_word_held(now), holds);
    }
    if (to == EPOCH_CLOSED && epoch_word_held(before) < epoch_word_held(now)) {
        sim_fail("epoch %u gets a hold after it was closed", id);
    }
    if (to == EPOCH_FINISHING && anyone_is_inside(value)) {
        sim_fail("epoch %u is finished with somebody inside", id);
    }
    if (to == EPOCH_FINISHING &&
        (load_plain(&epoch->policy) == TSLAB_POLICY_RELEASE || load_plain(&epoch->policy) == TSLAB_POLICY_TRAP)) {
        world.epochs.ended[world.epochs.ended_count++ % ENDED_MAX] = value;
        note_trapped(id, value);
        end_objects(value);
    }
    if (to == EPOCH_FREE) {
        if (epoch->runs != 0) {
            sim_fail("epoch %u retires, and has a run", id);
        }
        for (const struct object *o = world.objects; o < world_objects_end(); o++) {
            if (o->epoch == value && object_is_in_use(o)) {
                sim_fail("epoch %u retires, and has an object of T%d", id, o->owner);
            }
        }
    }
}

void epochs_look(void)
{
    for (uint32_t id = EPOCH_PROCESS + 1; id < EPOCH_RECORDS; id++) {
        const struct epoch *epoch = epochs_record(id);
        world.epochs.seen[id] = epoch == NULL ? 0 : word_of(epoch);
    }
}

void epochs_step(void)
{
    if (!epochs_are_there()) {
        return;
    }
    const struct epoch *epoch;
    for (uint32_t id = EPOCH_PROCESS + 1; (epoch = epochs_record(id)) != NULL; id++) {
        if (word_of(epoch) != world.epochs.seen[id]) {
            check_record(id, epoch, world.epochs.seen[id], word_of(epoch));
            world.epochs.seen[id] = word_of(epoch);
        }
    }
}

/* At rest. */

static char wrong[160];

#define WRONG(...) (snprintf(wrong, sizeof wrong, __VA_ARGS__), wrong)

static bool is_linked(const struct epoch *epoch, uint32_t unit)
{
    unsigned length = 0;
    for (uint32_t at = epoch->runs; at != 0 && length++ < UNITS_MAX; at = arena.runs[at].of_epoch.next) {
        if (at == unit) {
            return true;
        }
    }
    return false;
}

static const struct object *object_at(const void *p)
{
    for (const struct object *o = world.objects; o < world_objects_end(); o++) {
        if (o->address == p && !o->leaves) {
            return o;
        }
    }
    return NULL;
}

static const char *check_chunk(uint32_t unit, const struct epoch *epoch, bool filled, unsigned *lost)
{
    const char *const start = arena_address(unit);
    for (const struct object *o = world.objects; o < world_objects_end(); o++) {
        if (o->address != NULL && !o->leaves && arena_unit(o->address) - unit < CHUNK_UNITS &&
            code_at(o->address) != size_code_of_size(o->bytes)) {
            return WRONG("object %p has no code", o->address);
        }
    }
    for (const char *at = start; at < start + CHUNK_BYTES; at += GRANULE_BYTES) {
        *lost += code_at(at) != 0 && object_at(at) == NULL;
    }
    return is_linked(epoch, unit) != filled ? NULL : WRONG("chunk %u is linked, and being filled", unit);
}

const char *epochs_check_codes(uint32_t unit, uint32_t units)
{
    static const unsigned char zero[UNIT_BYTES / GRANULE_BYTES];
    for (uint32_t i = 0; i < units; i++) {
        if (memcmp((const void *)(uintptr_t)size_code_at(arena_address(unit + i)), zero, sizeof zero) != 0) {
            return WRONG("unit %u has codes, and no object can be there", unit + i);
        }
    }
    return NULL;
}

const char *epochs_check_run(uint32_t unit, unsigned *lost)
{
    const uint32_t tag = load_plain(&arena.units[unit].tag);
    const struct epoch *epoch = epochs_record(word_epoch(load_plain(&arena.runs[unit].word)));
    if (epoch == NULL || (tag != TAG_CHUNK && tag != TAG_LARGE)) {
        return WRONG("run %u is of no epoch, or of no kind", unit);
    }
    if (tag == TAG_LARGE) {
        *lost += object_at(arena_address(unit)) == NULL;
        return is_linked(epoch, unit) ? NULL : WRONG("run %u is not linked to its epoch", unit);
    }
    bool filled = false;
    for (const struct hold *hold = holds_of(epoch); hold != NULL; hold = hold_next(hold)) {
        filled |= cursor_start(&hold->cursor) == arena_address(unit);
    }
    return check_chunk(unit, epoch, filled, lost);
}

static unsigned count_runs(const struct epoch *epoch)
{
    unsigned runs = 0;
    for (uint32_t at = epoch->runs; at != 0; at = arena.runs[at].of_epoch.next) {
        runs++;
    }
    return runs;
}

static const char *check_holds(uint32_t id, const struct epoch *epoch)
{
    const enum epoch_state state = epoch_word_state(word_of(epoch));
    for (const struct hold *hold = holds_of(epoch); hold != NULL; hold = hold_next(hold)) {
        const struct thread *holder = holder_of(hold);
        if (state != EPOCH_OPEN && holder == HOLD_IDLE) {
            return WRONG("epoch %u is stranded: closed, and a hold is idle", id);
        }
        if (state == EPOCH_DRAINING && cursor_start(&hold->cursor) != NULL && !chunk_is_empty(&hold->cursor)) {
            return WRONG("epoch %u drains, and a hold has a chunk that is not empty", id);
        }
        bool inside = holder == HOLD_IDLE || holder == HOLD_TAKEN;
        for (unsigned i = 0; !inside && i < world_record_count; i++) {
            for (const struct hold *scope = world_records[i]->scope; scope != NULL; scope = scope->outer) {
                inside |= scope == hold && holder == world_records[i];
            }
        }
        if (!inside) {
            return WRONG("a hold of epoch %u is a thread's that is not inside", id);
        }
    }
    return NULL;
}

static const char *check_epoch(uint32_t id, struct epoch *epoch)
{
    const enum epoch_state state = epoch_word_state(word_of(epoch));
    if (load_plain(&epoch_lock(epoch)->word) != 0) {
        return WRONG("the lock of epoch %u was left held", id);
    }
    for (unsigned c = 1; epoch_partials(epoch) != NULL && c < CLASS_LIMIT; c++) {
        if (load_plain(&epoch_partials(epoch)[c].lock.word) != 0) {
            return WRONG("the lock of class %u of epoch %u is not free, or its queue not empty", c, id);
        }
    }
    if (state == EPOCH_FREE) {
        return epoch->runs == 0 ? NULL : WRONG("epoch %u is free, and has a run", id);
    }
    if (state == EPOCH_FINISHING) {
        return WRONG("epoch %u is stranded: nobody finishes it", id);
    }
    const unsigned pins = count_runs(epoch) + (state != EPOCH_DRAINING);
    if (load_plain(&epoch->pins) != pins) {
        return WRONG("epoch %u has %u pins, and should have %u", id, load_plain(&epoch->pins), pins);
    }
    return pins == 0 ? WRONG("epoch %u is stranded: it drains, and nothing pins it", id) : check_holds(id, epoch);
}

const char *epochs_rest(void)
{
    for (uint32_t id = EPOCH_PROCESS + 1; id < EPOCH_RECORDS; id++) {
        struct epoch *epoch = epochs_record(id);
        const char *bad = epoch == NULL ? NULL : check_epoch(id, epoch);
        if (bad != NULL) {
            return bad;
        }
    }
    return NULL;
}

/* Everybody leaves, everything is closed and freed: every record is FREE then, and its memory back in the depot. */
const char *epochs_end(struct thread *thread)
{
    struct front *const outside = front_current;
    for (unsigned i = 0; i < world_record_count; i++) {
        scope_leave_all(world_records[i]);
    }
    memset(world.epochs.depth, 0, sizeof world.epochs.depth);
    front_current = outside;
    for (unsigned i = 0; i < world.epochs.handle_count; i++) {
        const struct object *object = world.epochs.handles[i].object;
        if (object != NULL && !object->leaves) {
            free_handle(BUILDER, (int)i);
        }
    }
    for (uint32_t id = EPOCH_PROCESS + 1; id < EPOCH_RECORDS; id++) {
        struct epoch *epoch = epochs_record(id);
        if (epoch == NULL || epoch_word_state(word_of(epoch)) == EPOCH_FREE) {
            continue;
        }
        const uint64_t value = epoch_value(epoch);
        (void)ending_close(thread, value, false, NULL);
        /* In the child of a fork there are objects that only threads knew that it does not have. */
        if (world.forked && epochs_named(value) != NULL) {
            (void)ending_release(thread, value, false, NULL);
        }
        if (epochs_named(value) != NULL) {
            return WRONG("epoch %u is %s, and all that was in it is freed", id,
                         states[epoch_word_state(word_of(epoch))]);
        }
    }
    for (unsigned i = 0; i < world_record_count; i++) {
        flush(world_records[i]);
    }
    return NULL;
}

const char *epochs_gone(void)
{
    for (uint32_t unit = 1; unit < arena.committed_units; unit++) {
        const uint32_t word = load_plain(&arena.runs[unit].word);
        if (word_state(word) != SLAB_EMPTY && word_epoch(word) > EPOCH_PROCESS) {
            return WRONG("run %u is stranded: its epoch %u is over", unit, word_epoch(word));
        }
    }
    /* Every record can be had, once. */
    unsigned taken = 0;
    while (taken <= EPOCH_RECORDS && epoch_take_record() != NULL) {
        taken++;
    }
    return taken == EPOCH_RECORDS - EPOCH_PROCESS - 1 ? NULL : WRONG("%u records of epochs can be had", taken);
}
