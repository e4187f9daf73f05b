/* The call stack is read outside of gates and locks. An unwinder that allocates comes here again: the thread then
 * samples nothing. */
#include "thread/sampling.h"

#include "common/random.h"
#include "common/trace.h"
#include "os/fatal.h"
#include "os/os.h"
#include "slab/chunk.h"
#include "slab/large.h"

#include <errno.h>

/* How many bytes come before the next sample. */
static uint64_t draw_distance(struct heap *heap)
{
    const uint64_t period = load_plain(&samples.period);
    invariant(period != 0);
    if (heap->random == 0) {
        heap->random = fetch_add_plain(&samples.seed, 1);
        heap->random = random_next(&heap->random);
    }
    return random_distance(&heap->random, period);
}

/* The value of the epoch; 0: the process, or none. */
static uint64_t value_of(const struct epoch *epoch)
{
    return epoch == NULL || epoch == &epoch_process ? 0 : epoch_value(epoch);
}

/* Outside of the gate. */
static void tell_alloc(const void *p, uint64_t bytes, uint64_t period)
{
    if (unlikely(load_plain(&otel_memory_alloc_semaphore) != 0)) {
        trace_otel_alloc(p, bytes, random_weight(bytes, period) * bytes >> WEIGHT_SHIFT);
    }
}

static noinline void take_sample(struct thread *thread, struct sample *sample)
{
    uintptr_t frames[STACK_FRAMES];
    const int saved = errno;
    invariant(!thread->gate.is_inside && (sample->class == CLASS_NONE || sample->run != 0));
    if (!thread->is_sampling) {
        thread->is_sampling = true;
        const size_t depth = stack_read(frames);
        sample->period = load_plain(&samples.period);
        sample->born_ms = os_now_ms();
        sample->thread = load_plain(&thread->number);
        gate_lock(&thread->gate);
        const bool is_made = samples_add(sample, frames, depth);
        gate_unlock(&thread->gate);
        if (is_made && sample->life == 0) {
            tell_alloc((const void *)(uintptr_t)sample->address, sample->bytes, sample->period);
        }
        thread->is_sampling = false;
    }
    errno = saved;
}

/* Slots. */

/* Places the count of a magazine anew: so many slots before the next sample. In the gate, because sampling_stop looks
 * at what is noted here. */
static void place_count(struct heap *heap, unsigned class, uint64_t left, bool ends_in_sample)
{
    struct heap_class *const hc = heap_class_of(heap, class);
    invariant(heap->gate->is_inside && heap_uses(heap, class));
    owned_set(&hc->handed_out, heap_handed_out(heap, class));
    hc->ends_in_sample = ends_in_sample && left <= COUNT_MOST;
    magazine_count_down(&heap->front.magazine[class], left);
}

/* Whether an object of so many bytes is sampled, which is the next of its class. The count goes on behind it. A
 * distance has no memory: where the count ended before it, or it was drawn by another rate, it is drawn anew. */
static bool draw_slot(struct heap *heap, unsigned class, uint64_t size)
{
    struct heap_class *const hc = heap_class_of(heap, class);
    const uint32_t changes = load_plain(&samples.changes);
    bool is_sampled = magazine_has_ended(&heap->front.magazine[class]) && hc->ends_in_sample && hc->changes == changes;
    uint64_t left = draw_distance(heap) / size;
    if (!is_sampled) {
        is_sampled = left == 0;
        left = is_sampled ? draw_distance(heap) / size : left - 1;
    }
    invariant(size != 0 && samples_were_on());
    hc->changes = changes;
    place_count(heap, class, left, true);
    return is_sampled;
}

noinline void *sampling_count(struct heap *heap, unsigned class, void *p)
{
    struct magazine *const m = &heap->front.magazine[class];
    invariant(class != CLASS_NONE && class < CLASS_LIMIT && heap != &heap_none && !heap->gate->is_inside);
    if (p == NULL) {
        return NULL;
    }
    if (option_get(OPTION_MAGAZINES) == 0) {
        magazine_count(m, 0);
        if (!magazine_is_stopped(m) && heap_class_of(heap, class)->changes == load_plain(&samples.changes)) {
            return p;
        }
    }
    const uint64_t size = class_geometry[class].size;
    bool is_sampled = false;
    gate_lock(heap->gate);
    if (samples_are_on()) {
        is_sampled = draw_slot(heap, class, size);
    } else {
        heap_class_of(heap, class)->changes = load_plain(&samples.changes);
        place_count(heap, class, COUNT_MOST, false);
    }
    gate_unlock(heap->gate);
    if (is_sampled) {
        struct sample sample = { .address = (uintptr_t)p,
                                 .bytes = size,
                                 .class = class,
                                 .run = arena.units[arena_unit(p)].first,
                                 .epoch = value_of(heap->epoch) };
        take_sample(heap->front.thread, &sample);
    }
    return p;
}

/* The holder may be in a short loop, and write in step with us. So the times are at random distances, and nothing is
 * read in between. */
static void stop_many_times(struct magazine *m, unsigned times)
{
    static uint64_t distances = 1;
    enum { SPINS_MOST = 32 };
    invariant(times != 0 && samples_were_on());
    magazine_stop(m);
    for (unsigned i = 1; i < times; i++) {
        for (uint64_t spins = random_next(&distances) % SPINS_MOST; spins != 0; spins--) {
            cpu_relax();
        }
        magazine_stop(m);
    }
}

unsigned sampling_stop(struct heap *heap, unsigned times)
{
    const uint32_t changes = load_plain(&samples.changes);
    unsigned stopped = 0;
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        struct magazine *const m = &heap->front.magazine[c];
        if (heap_uses(heap, c) && heap_class_of(heap, c)->changes != changes && !magazine_is_stopped(m)) {
            stop_many_times(m, times);
            stopped++;
        }
    }
    return stopped;
}

void sampling_end(struct gate *gate, const void *p)
{
    invariant(p != NULL && samples_were_on() && !gate->is_inside);
    if (samples_may_have((uintptr_t)p)) {
        gate_lock(gate);
        samples_end((uintptr_t)p);
        gate_unlock(gate);
    }
}

/* Large blocks, and chunks. */

noinline void sampling_large(struct thread *thread, void *p, size_t before)
{
    struct heap *const heap = &thread->heap;
    if (p == NULL) {
        return;
    }
    if (heap->large_changes != load_plain(&samples.changes)) {
        heap->large_changes = load_plain(&samples.changes);
        heap->large_left = draw_distance(heap);
    }
    const size_t bytes = owned_load(&arena.runs[arena_unit(p)].large_bytes);
    invariant(arena_tag(p) == TAG_LARGE && bytes != 0 && !thread->gate.is_inside);
    const size_t more = bytes > before ? bytes - before : 0;
    const bool is_hit = more > heap->large_left;
    heap->large_left = is_hit ? draw_distance(heap) : heap->large_left - more;
    bool grown = false;
    if (before != 0 && more != 0) {
        gate_lock(&thread->gate);
        grown = samples_grow((uintptr_t)p, bytes);
        gate_unlock(&thread->gate);
    }
    if (grown) {
        trace_sample_ends(p);
        tell_alloc(p, bytes, load_plain(&samples.period));
    }
    if (is_hit && !grown) {
        const uint32_t id = large_epoch(p);
        struct sample sample = { .address = (uintptr_t)p,
                                 .bytes = bytes,
                                 .epoch = id == 0 ? 0 : value_of(epoch_by_id(id)) };
        take_sample(thread, &sample);
    }
}

noinline void sampling_in_chunk(struct thread *thread, const struct epoch *epoch, void *p)
{
    const uint32_t chunk = arena.units[arena_unit(p)].first;
    struct sample sample = { .address = (uintptr_t)p,
                             .bytes = chunk_usable(p),
                             .run = chunk,
                             .life = owned_load(&arena.runs[chunk].life),
                             .epoch = value_of(epoch) };
    invariant(arena_tag(p) == TAG_CHUNK && sample.life != 0);
    take_sample(thread, &sample);
}
