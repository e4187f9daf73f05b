/* The call stack is read outside of gates and locks. An unwinder that allocates comes here again: the thread then
 * samples nothing. */
#include "thread/sampling.h"

#include "common/metadata.h"
#include "common/option.h"
#include "common/random.h"
#include "os/fatal.h"
#include "os/os.h"
#include "slab/chunk.h"
#include "slab/large.h"

#include <errno.h>

/* The second row of a class has at most so many bytes, so that a program that allocates and frees in turn stays within
 * a part of the cache, and so many slots. */
enum { AHEAD_BYTES = 32768, AHEAD_SLOTS = TSLAB_SIM ? 0 : 64 };

struct ahead {
    uint64_t state;      /* of the generator */
    uint64_t large_left; /* bytes of large blocks before the next sample */
    uint32_t changes;    /* samples.changes when the distances were drawn */
    struct {
        uint64_t left; /* allocations before the next sample */
        uint16_t at;   /* the number of its first place, which holds NULL */
        uint16_t slots;
    } class[CLASS_LIMIT];
    void *places[AHEAD_PLACES];
};

/* Draws all distances. */
static void random_all(struct ahead *ahead)
{
    const uint64_t period = load_plain(&samples.period);
    invariant(period != 0);
    ahead->changes = load_plain(&samples.changes);
    ahead->large_left = random_distance(&ahead->state, period);
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        ahead->class[c].left = random_distance(&ahead->state, period) / class_geometry[c].size;
    }
}

/* NULL: no memory. */
static noinline struct ahead *make_ahead(struct heap *heap)
{
    gate_lock(heap->gate);
    struct ahead *const ahead = metadata_alloc(sizeof *ahead);
    gate_unlock(heap->gate);
    if (ahead == NULL) {
        counter_add_shared(&samples.lost, 1);
        return NULL;
    }
    ahead->state = fetch_add_plain(&samples.seed, 1);
    ahead->state = random_next(&ahead->state);
    unsigned at = 0;
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        const size_t slots = min_size(AHEAD_BYTES / class_geometry[c].size, AHEAD_SLOTS);
        ahead->class[c].at = (uint16_t)at;
        ahead->class[c].slots = (uint16_t)slots;
        at += (unsigned)slots + 1;
    }
    invariant(at <= AHEAD_PLACES);
    random_all(ahead);
    owned_store(&heap->ahead, ahead);
    return ahead;
}

static struct ahead *ahead_of(struct heap *heap)
{
    struct ahead *const ahead = heap->ahead != NULL ? heap->ahead : make_ahead(heap);
    if (ahead != NULL && unlikely(ahead->changes != load_plain(&samples.changes))) {
        random_all(ahead);
    }
    return ahead;
}

/* A place is handed out: if a sampled object was there, it was freed. In the gate. */
static void end_before(const void *p)
{
    if (unlikely(samples_may_have(p)) && samples_find((uintptr_t)p) != 0) {
        samples_end((uintptr_t)p);
    }
}

static void end_before_outside(struct gate *gate, const void *p)
{
    if (unlikely(samples_may_have(p))) {
        gate_lock(gate);
        end_before(p);
        gate_unlock(gate);
    }
}

/* The run of a living object that is in a slab or a chunk. */
static uint32_t run_of(const void *p)
{
    return arena.units[arena_unit(p)].first;
}

/* The value of the epoch as users know it; 0: the process, or none. */
static uint64_t epoch_of_users(const struct epoch *epoch)
{
    if (epoch == NULL || epoch == &epoch_process) {
        return 0;
    }
    const struct epoch *const owner = load_plain(&epoch->owner);
    return epoch_value(owner != NULL ? owner : epoch);
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
        samples_add(sample, frames, depth, sampling_is_dead);
        gate_unlock(&thread->gate);
        thread->is_sampling = false;
    }
    errno = saved;
}

/* Slots. */

/* Moves slots, from the last one down, and ends what was sampled in their places. Four at once are looked up by one
 * branch: this is most of what sampling costs. */
always_inline void move_ahead(const atomic_u8 *filter, void **from, void **to, unsigned n)
{
    unsigned i = 0;
    for (; i + 4 <= n; i += 4, from -= 4, to -= 4) {
        void *const a = from[0], *const b = from[-1], *const c = from[-2], *const d = from[-3];
        owned_write(&to[0], a);
        owned_write(&to[-1], b);
        owned_write(&to[-2], c);
        owned_write(&to[-3], d);
        if (unlikely((samples_filter_at(filter, a) | samples_filter_at(filter, b) | samples_filter_at(filter, c) |
                      samples_filter_at(filter, d)) != 0)) {
            end_before(a);
            end_before(b);
            end_before(c);
            end_before(d);
        }
    }
    for (; i < n; i++, from--, to--) {
        end_before(*from);
        owned_write(to, *from);
    }
}

/* Fills the empty second row of a class. Returns how many slots it has. Checked builds look at each slot that is handed
 * out, and leave the row empty. */
static unsigned fill_ahead(struct heap *heap, struct ahead *ahead, unsigned class)
{
    invariant(heap_slots_ahead(heap, class) == 0 && heap->ahead == ahead);
    if (TSLAB_CHECKED) {
        return 0;
    }
    struct magazine *const m = &heap->front.magazine[class];
    const unsigned most = (unsigned)min_size(ahead->class[class].slots, magazine_slots(m));
    const unsigned n = (unsigned)min_size(most, ahead->class[class].left);
    if (n == 0) {
        return 0;
    }
    void **const places = &ahead->places[ahead->class[class].at];
    const atomic_u8 *const filter = load_acquire(&samples.filter);
    gate_lock(heap->gate);
    void **const top = m->top;
    move_ahead(filter, top, &places[n], n);
    owned_add(&m->served, n);
    owned_store(&m->top, top - n);
    magazine_set(&heap->front.ahead[class], places, ahead->class[class].slots, n);
    owned_set(&heap_part(heap, class)->fresh, UINT64_MAX); /* the sum of slots does not tell any more */
    ahead->class[class].left -= n;
    invariant(heap_slots_ahead(heap, class) == n && places[0] == NULL);
    gate_unlock(heap->gate);
    return n;
}

/* A program that allocates and frees in turn needs few slots. Now all of them are in the second row, and more are
 * taken, until the row is long enough that it is filled but seldom. */
static void take_more(struct heap *heap, unsigned class)
{
    struct magazine *const m = &heap->front.magazine[class];
    invariant(magazine_slots(m) == 0 && heap_slots_ahead(heap, class) != 0);
    void *const p = refill_alloc(heap, class);
    if (p != NULL) {
        magazine_push(m, p); /* it was not handed out */
        owned_set(&m->served, owned_get(&m->served) - 1);
    }
}

noinline void *sampling_alloc_slot(struct heap *heap, unsigned class)
{
    struct magazine *const m = &heap->front.magazine[class];
    invariant(class != CLASS_NONE && class < CLASS_LIMIT && heap != &heap_none && !heap->gate->is_inside);
    void *p = heap->ahead != NULL ? magazine_pop(&heap->front.ahead[class]) : NULL;
    if (p != NULL) {
        return p;
    }
    p = option_get(OPTION_MAGAZINES) == 0 ? NULL : magazine_pop(m);
    p = p != NULL ? p : refill_alloc(heap, class);
    struct ahead *const ahead = p == NULL ? NULL : ahead_of(heap);
    if (ahead == NULL) {
        return p;
    }
    end_before_outside(heap->gate, p);
    if (ahead->class[class].left != 0) {
        ahead->class[class].left--;
        const unsigned n = fill_ahead(heap, ahead, class);
        if (n != 0 && n < ahead->class[class].slots / 2 && magazine_slots(m) == 0) {
            take_more(heap, class);
        }
        return p;
    }
    const uint64_t size = class_geometry[class].size;
    struct sample sample = {
        .address = (uintptr_t)p, .bytes = size, .class = class, .run = run_of(p), .epoch = epoch_of_users(heap->epoch)
    };
    ahead->class[class].left = random_distance(&ahead->state, load_plain(&samples.period)) / size;
    take_sample(heap->front.thread, &sample);
    return p;
}

/* Large blocks, and chunks. */

noinline void sampling_large(struct thread *thread, void *p, size_t before)
{
    struct ahead *const ahead = p == NULL ? NULL : ahead_of(&thread->heap);
    if (ahead == NULL) {
        return;
    }
    const size_t bytes = owned_load(&arena.runs[arena_unit(p)].large_bytes);
    invariant(arena_tag(p) == TAG_LARGE && bytes != 0 && !thread->gate.is_inside);
    const size_t more = bytes > before ? bytes - before : 0;
    if (before == 0) {
        end_before_outside(&thread->gate, p);
    }
    if (more <= ahead->large_left) {
        ahead->large_left -= more;
    } else {
        ahead->large_left = random_distance(&ahead->state, load_plain(&samples.period));
        const uint32_t id = large_epoch(p);
        struct sample sample = { .address = (uintptr_t)p,
                                 .bytes = bytes,
                                 .epoch = id == 0 ? 0 : epoch_of_users(epoch_by_id(id)) };
        if (before == 0 || samples_find((uintptr_t)p) == 0) {
            take_sample(thread, &sample);
            return;
        }
    }
    if (before != 0 && more != 0 && samples_may_have(p)) {
        gate_lock(&thread->gate);
        (void)samples_grow((uintptr_t)p, bytes);
        gate_unlock(&thread->gate);
    }
}

noinline void sampling_in_chunk(struct thread *thread, const struct epoch *epoch, void *p)
{
    struct sample sample = { .address = (uintptr_t)p,
                             .bytes = chunk_usable(p),
                             .run = run_of(p),
                             .life = owned_load(&arena.runs[run_of(p)].life),
                             .epoch = epoch_of_users(epoch) };
    invariant(arena_tag(p) == TAG_CHUNK);
    take_sample(thread, &sample);
}

/* What lives. */

/* Other threads may be about to give the memory another use. */
bool sampling_is_dead(const struct sample *sample)
{
    const char *const p = (const char *)sample->address;
    const uint32_t tag = arena_tag(p);
    if (sample->run == 0) {
        return tag != TAG_LARGE;
    }
    const struct run *const run = &arena.runs[sample->run];
    const uint32_t word = load_acquire(&run->word);
    if (word_state(word) == SLAB_EMPTY || word_class(word) != sample->class) {
        return true;
    }
    if (sample->life != 0) {
        return tag != TAG_CHUNK || load_plain(size_code_at(p)) == 0 || owned_load(&run->life) != sample->life;
    }
    const uint32_t slot = (uint32_t)(p - arena_address(sample->run)) / class_geometry[sample->class].size;
    invariant(p >= arena_address(sample->run) && slot < class_geometry[sample->class].slots);
    return tag_class(tag) != sample->class ||
           (load_plain(&run->bitmap[slot / WORD_SLOTS]) >> slot % WORD_SLOTS & 1) != 0;
}
