#include "live.h"

#include "common/option.h"
#include "common/random.h"
#include "common/trace.h"
#include "malloc/fast.h"
#include "memory.h"
#include "os/os.h"
#include "report/profile.h"
#include "report/report_signal.h"
#include "scheduler.h"
#include "system.h"
#include "world.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>

enum { SEED = 1 };
#define PERIOD_ALL  1
#define PERIOD_SOME 16384
#define PERIOD_NONE PERIOD_MOST

static struct live_ledger *ledger(void)
{
    return &world.live;
}

/* One thread at a time writes. */

static void begin_alone(void)
{
    if (ledger()->busy++ != 0) {
        sim_fail("two threads report at once");
    }
    memory_use(&ledger()->answered, sizeof ledger()->answered);
    sim_point();
}

static void end_alone(void)
{
    sim_point();
    ledger()->busy--;
}

/* Reports. */

static void write_report(void)
{
    if (ledger()->answered == ledger()->asked) {
        sim_fail("a report that nobody has asked for");
    }
    ledger()->answered = ledger()->asked;
    begin_alone();
    end_alone();
}

static void make_ready(void)
{
    if (!ledger()->reports) {
        memset(&report_signal, 0, sizeof report_signal);
        memset(&trace, 0, sizeof trace); /* what the library's own constructor has done */
        option_values[OPTION_STATS_SIGNAL] = SIGUSR2;
        report_signal_start(write_report);
        ledger()->reports = true;
    }
}

static void come_by_as_keeper(void)
{
    struct front *const front = front_current;
    front_current = &front_none;
    trace_from_keeper();
    front_current = front;
}

/* Samples. The stack of a sample is the number of the operation that allocated. */

static int worker(void)
{
    return sim_is_running() ? sim_self() : BUILDER;
}

size_t wrap_stack_read(uintptr_t frames[STACK_FRAMES]) __asm__("__wrap_stack_read");

size_t wrap_stack_read(uintptr_t frames[STACK_FRAMES])
{
    frames[0] = ledger()->serial_of[worker()];
    return 1;
}

void live_take_off(struct flight *flight)
{
    flight->serial = ledger()->serial_of[worker()] = ++ledger()->serial;
    ledger()->births += flight->frees == NULL;
    flight->sampling = ledger()->sampling;
    flight->switches = ledger()->switches;
}

void live_born(struct object *object, const struct flight *flight)
{
    const bool is_known = flight->switches == ledger()->switches;
    /* A chunk that is filled goes on by what was drawn when it was begun. Without a life, nothing was. */
    const bool is_in_chunk = object->tag == TAG_CHUNK, is_old = is_in_chunk && ledger()->switches > 2;
    const bool is_blind = flight->sampling == SAMPLING_BLIND;
    object->serial = flight->serial;
    object->sampling = is_blind || (is_known && !is_old) ? flight->sampling : SAMPLING_UNKNOWN;
    if (is_in_chunk && arena.runs[arena.units[arena_unit(object->address)].first].life == 0) {
        object->sampling = SAMPLING_NONE;
    }
}

static void set_sampling(int number)
{
    const unsigned switches = ++ledger()->switches;
    ledger()->sampling = SAMPLING_UNKNOWN;
    ledger()->switching++;
    for (struct object *o = world.objects; number == 0 && o < world_objects_end(); o++) {
        o->sampling = SAMPLING_UNKNOWN;
    }
    if (load_plain(&samples.seed) == 0) {
        store_plain(&samples.seed, SEED);
    }
    static const uint64_t periods[] = { 0, PERIOD_ALL, PERIOD_NONE, PERIOD_SOME };
    if (!profile_set(periods[number])) {
        sim_fail("no memory for samples");
    }
    if (--ledger()->switching == 0 && ledger()->switches == switches) {
        ledger()->sampling = number == 1 ? SAMPLING_ALL : number == 3 ? SAMPLING_UNKNOWN : SAMPLING_NONE;
    }
    ledger()->switches++;
}

/* Whether the sample that operation `serial` made at an address may be one of an object; serial 0: it is not known. */
static bool is_of(const struct object *object, uint64_t address, uintptr_t serial)
{
    return object->address != NULL && (uintptr_t)object->address == address &&
           (serial == 0 || object->serial == serial || object->sampling == SAMPLING_BLIND);
}

/* Whether any object is that one. Two are in one place where another thread's free is under way. */
static bool is_any(const struct object *objects, uint64_t address, uintptr_t serial)
{
    bool is = false;
    for (unsigned i = 0; i < world.object_places; i++) {
        is |= is_of(&objects[i], address, serial);
    }
    return is;
}

/* Whether a place may be on its way to a user. */
static bool anyone_allocates(void)
{
    bool allocates = false;
    for (const struct flight *f = world.flights; f <= world.flights + BUILDER; f++) {
        allocates |= f->on && f->allocates;
    }
    return allocates;
}

/* Whether the objects of an epoch may be gone, and their records not yet: the first step of its end took them. */
static bool anyone_releases(void)
{
    bool releases = false;
    for (uint32_t id = EPOCH_PROCESS + 1; id < EPOCH_RECORDS; id++) {
        const struct epoch *const epoch = epochs_record(id);
        releases |= epoch != NULL && epochs_state(epoch) == EPOCH_FINISHING;
    }
    return releases;
}

/* The operation that made a sample; 0: it is not known. In the gate, or alone. */
static uintptr_t serial_of(const struct sample *sample)
{
    struct stack_sums sums;
    return sample->stack == 0 ? 0 : samples_stack(sample->stack, &sums)->frames[0];
}

static bool is_said_to_live(uint32_t number, struct sample *sample, uintptr_t *serial)
{
    uint64_t bytes;
    struct thread *const thread = current_thread_get();
    gate_lock(&thread->gate);
    const bool lives = profile_live(number, sample, &bytes);
    *serial = lives ? serial_of(sample) : 0;
    gate_unlock(&thread->gate);
    current_thread_put(thread);
    return lives;
}

/* An object reported to live does, or did when the look began, and all sampled objects that live are reported. */
static void look_at_samples(void)
{
    struct object before[OBJECTS_MAX];
    bool told[OBJECTS_MAX] = { false };
    const unsigned count = world.object_places;
    const unsigned births = ledger()->births;
    memcpy(before, world.objects, sizeof before);
    bool is_calm = !anyone_allocates() && !anyone_releases();
    if (!samples_were_on()) {
        return;
    }
    for (uint32_t number = 1; number <= counter_get(&samples.highest); number++) {
        struct sample sample;
        uintptr_t of;
        if (!is_said_to_live(number, &sample, &of)) {
            continue;
        }
        is_calm = is_calm && ledger()->births == births;
        if (is_calm && !is_any(before, sample.address, of) && !is_any(world.objects, sample.address, of)) {
            sim_fail("sample %u of %zx (%zu bytes, of %zx, run %u) is said to live, and is gone", number,
                     (size_t)sample.address, (size_t)sample.bytes, (size_t)of, sample.run);
        }
        for (unsigned i = 0; i < count; i++) {
            told[i] |= is_of(&before[i], sample.address, of);
        }
    }
    for (unsigned i = 0; i < count && counter_get(&samples.lost) == 0; i++) {
        const struct object *const now = &world.objects[i];
        const bool stays = before[i].address != NULL && now->address == before[i].address &&
                           now->serial == before[i].serial && !now->leaves && now->handle == 0;
        if (stays && !told[i] && before[i].sampling == SAMPLING_ALL && now->sampling == SAMPLING_ALL) {
            sim_fail("a sampled object lives, and is not told");
        }
        if (stays && told[i] && before[i].sampling == SAMPLING_NONE && now->sampling == SAMPLING_NONE) {
            sim_fail("an object is told that was not to be sampled");
        }
    }
}

static const char *check_records(void)
{
    uint32_t used = 0;
    for (uint32_t number = 1; number <= counter_get(&samples.highest); number++) {
        struct sample sample;
        if (samples_copy(number, &sample)) { /* no other thread runs, so no gate is needed */
            used++;
            if (!samples_may_have(sample.address)) {
                return "a record is not found";
            }
            /* A child may have the record of an object that a cut thread was about to get. */
            const uintptr_t of = serial_of(&sample);
            if (sample.life == 0 && simulated.process == 0 && !is_any(world.objects, sample.address, of)) {
                return "a record outlives its object";
            }
        }
    }
    if (used != counter_get(&samples.live)) {
        return "records are counted wrongly";
    }
    return used != 0 && load_plain(&samples.is_on) == 0 ? "nothing is sampled, and records are left" : NULL;
}

bool live_operate(int actor, char what, int number)
{
    (void)actor;
    switch (what) {
    case '%':
        make_ready();
        ledger()->asked++;
        system_signal(SIGUSR2);
        return true;
    case '#':
        make_ready();
        trace_after_slow();
        return true;
    case ';':
        come_by_as_keeper();
        return true;
    case '[':
        set_sampling(number);
        return true;
    case '|':
        look_at_samples();
        return true;
    default:
        return false;
    }
}

void live_forked(void)
{
    ledger()->busy = 0;
    simulated.process++;
}

/* A slow operation comes by: nothing is left to be done then. */
static const char *check_reports(void)
{
    fast_free(fast_alloc((size_t)2 << UNIT_SHIFT));
    if (ledger()->answered != ledger()->asked) {
        return "a report was asked for and is not written";
    }
    return load_plain(&report_signal.is_writing) == 0 ? NULL : "a claim to write is left";
}

const char *live_rest(void)
{
    const char *wrong = ledger()->reports ? check_reports() : NULL;
    if (wrong == NULL && samples_were_on()) {
        look_at_samples();
        wrong = check_records();
    }
    return wrong;
}

const char *live_gone(void)
{
    if (!samples_were_on()) {
        return NULL;
    }
    look_at_samples();
    return check_records();
}
