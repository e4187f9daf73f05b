/* A handle is packed and masked by arithmetic. The hidden epoch that serves an epoch's handles is made at the first
 * one, and a scope keeps a hold of it. */
#include "malloc/handle.h"

#include "epoch/epoch_alloc.h"
#include "malloc/object.h"
#include "os/fatal.h"
#include "slab/generation.h"
#include "thread/overflow.h"
#include "thread/sampling.h"

#include <errno.h>

/* The fields of a handle, from the top. */
enum { UNIT_BITS = 30, INDEX_BITS = 8, NUMBER_BITS = 26 };

_Static_assert(UNIT_BITS + INDEX_BITS + NUMBER_BITS == 64, "a handle has 64 bits");
_Static_assert(GENERATION_MOST <= (1 << NUMBER_BITS) - 1, "a handle has room for every generation");

/* The three parts of a handle. */
struct name {
    uint64_t unit;
    uint32_t slot, generation;
};

/* The generations of different places are small and similar numbers. In a handle each is mixed with a number of the
 * place in this process, so that a handle that is almost right for one place is far from right for another. */
static uint32_t handle_mask(uint64_t place)
{
    return (uint32_t)((place + (arena.base >> UNIT_SHIFT)) * 0x9e3779b97f4a7c15u >> (64 - NUMBER_BITS));
}

static uint64_t handle_of(struct name name)
{
    invariant(name.unit >> UNIT_BITS == 0 && name.slot >> INDEX_BITS == 0 && name.generation != 0);
    const uint64_t place = name.unit << INDEX_BITS | name.slot;
    return place << NUMBER_BITS | (name.generation ^ handle_mask(place));
}

static struct name name_in(uint64_t handle)
{
    const uint64_t place = handle >> NUMBER_BITS;
    return (struct name){ place >> INDEX_BITS, (uint32_t)(place & bit_mask(INDEX_BITS)),
                          (uint32_t)(handle & bit_mask(NUMBER_BITS)) ^ handle_mask(place) };
}

/* Borrows a hold of the epoch that serves the handles of the epoch with this value. `inside` is the thread's hold of
 * that epoch, or NULL. NULL: *status says why. */
static struct hold *borrow_serving(struct thread *thread, uint64_t value, struct hold *inside, int *status)
{
    struct epoch *epoch = epoch_by_value(value);
    if (epoch == NULL || !epoch_is_open(epoch)) {
        *status = epoch == NULL ? TSLAB_STALE : TSLAB_CLOSED;
        return NULL;
    }
    struct epoch *handles = epoch_serving(epoch);
    if (handles == NULL) {
        struct hold *hold = inside != NULL ? inside : scope_borrow(thread, value, status);
        if (hold == NULL) {
            return NULL;
        }
        handles = scope_serve_handles(thread, hold->epoch);
        if (inside == NULL) {
            scope_return(thread, hold);
        }
        if (handles == NULL) {
            *status = TSLAB_NO_MEMORY;
            return NULL;
        }
    }
    struct hold *hold = scope_borrow(thread, epoch_value(handles), status);
    /* By now the user's epoch may be gone, and the other record may serve another epoch. */
    if (hold != NULL && !(epoch_serving(epoch) == hold->epoch && epoch_is_open(epoch) &&
                          epoch_same_generation(load_seq_cst(&epoch->word), value))) {
        scope_return(thread, hold);
        *status = TSLAB_CLOSED;
        return NULL;
    }
    return hold;
}

static void end_if_sampled(struct gate *gate, const void *p)
{
    if (unlikely(unit_is_sampled(arena_unit(p)))) {
        sampling_end(gate, p);
    }
}

/* Lends a slot that was just allocated from the hold. Returns its handle. 0: the generations of the place are used up,
 * and the hold's heap keeps the slot. If there is no memory for that, *object becomes NULL. */
static uint64_t handle_lend(struct hold *hold, void **object)
{
    void *const p = *object;
    invariant(hold->heap != NULL && tag_has_handles(unit_tag(arena_unit(p))));
    const unsigned class = tag_class(unit_tag(arena_unit(p)));
    const struct slot slot = slot_of(p, class);
    const uint32_t generation = place_next(p, slot.slab);
    if (unlikely(generation == 0)) {
        end_if_sampled(hold->heap->gate, p);
        if (!heap_retire(hold->heap, class, p)) {
            *object = NULL;
        }
        return 0;
    }
    store_release(place_word(p), place_lent(generation));
    return handle_of((struct name){ run_index(slot.slab), slot.word * WORD_SLOTS + bit_lowest(slot.mask), generation });
}

/* Allocates from a hold of the serving epoch. The hold stays the caller's meanwhile, so the slab cannot be released. 0:
 * no memory, or the epoch is closed. */
static uint64_t handle_lend_from(struct thread *thread, struct hold *hold, size_t size, void **object)
{
    uint64_t handle;
    do {
        *object = epoch_alloc_slot(thread, hold, size, PLACE_ALIGN);
        handle = *object == NULL ? 0 : handle_lend(hold, object);
    } while (handle == 0 && *object != NULL);
    return handle;
}

uint64_t handle_alloc(struct thread *thread, uint64_t epoch, size_t size, void **object, int *status)
{
    /* A thread that is inside of the epoch keeps the hold until the scope ends. */
    struct hold *const inside = scope_inside(thread, epoch);
    struct hold *hold = inside != NULL && epoch_is_open(inside->epoch) ? inside->serving : NULL;
    if (unlikely(hold == NULL)) {
        hold = borrow_serving(thread, epoch, inside, status);
        if (hold == NULL) {
            return 0;
        }
        if (inside != NULL) {
            invariant(inside->serving == NULL);
            inside->serving = hold;
        }
    }
    invariant(load_plain(&hold->holder) == thread);
    const uint64_t handle = handle_lend_from(thread, hold, size, object);
    *status = handle != 0 || epoch_is_open(hold->epoch) ? TSLAB_NO_MEMORY : TSLAB_CLOSED;
    if (inside == NULL) {
        scope_return(thread, hold);
    }
    return handle;
}

/* The place in the epoch that a handle names, whether it is lent to this handle or not. NULL: there is none. */
static void *named_place(uint64_t value, struct name name, unsigned *class)
{
    const struct epoch *epoch = epoch_by_value(value);
    const struct epoch *handles = epoch == NULL ? NULL : epoch_serving(epoch);
    /* A unit whose tag has no class is in no slab. If it lies in a gap of the arena, it has no descriptor either. */
    if (handles == NULL || !arena_has_unit(name.unit) || tag_class(unit_tag(name.unit)) == CLASS_NONE) {
        return NULL;
    }
    /* A slab of that epoch starts at the unit, or it has just been recycled, and then none of its slots is lent. */
    const uint32_t word = load_seq_cst(&arena.runs[name.unit].word);
    *class = word_class(word);
    if (word_state(word) == SLAB_EMPTY || *class == CLASS_NONE || word_epoch(word) != handles->id ||
        name.slot >= class_geometry[*class].slots) {
        return NULL;
    }
    return arena_address((uint32_t)name.unit) + (size_t)name.slot * class_geometry[*class].size;
}

void *handle_get(uint64_t epoch, uint64_t handle)
{
    const struct name name = name_in(handle);
    unsigned class;
    void *p = named_place(epoch, name, &class);
    return p != NULL && load_acquire(place_word(p)) == place_lent(name.generation) ? p : NULL;
}

/* Frees a slot to the heap of a hold of the serving epoch that the thread has. Its next allocation finds the slot
 * there. */
static void handle_free_to(struct heap *heap, unsigned class, void *p)
{
    struct magazine *m = &heap->front.magazine[class];
    invariant(m->tag == arena_tag(p));
    if (likely(!magazine_is_full(m))) {
        invariant(!magazine_has_last(m, p));
        magazine_push(m, p);
    } else {
        const int saved = errno;
        overflow_free(heap, class, p);
        errno = saved;
    }
}

bool handle_free(struct thread *thread, uint64_t epoch, uint64_t handle)
{
    const struct name name = name_in(handle);
    unsigned class;
    void *p = named_place(epoch, name, &class);
    uint32_t word = place_lent(name.generation);
    if (p == NULL || !cas_acq_rel(place_word(p), &word, place_free(name.generation))) {
        return false;
    }
    if (TSLAB_CHECKED) {
        object_end(p);
    }
    end_if_sampled(&thread->gate, p);
    const struct hold *const inside = scope_inside(thread, epoch);
    if (inside != NULL && inside->serving != NULL && inside->serving->heap != NULL) {
        invariant(load_plain(&inside->serving->holder) == thread);
        handle_free_to(inside->serving->heap, class, p);
    } else {
        heap_use(&thread->heap, class);
        counter_add(&heap_part(&thread->heap, class)->counters.remote_frees, 1);
        overflow_free_direct(&thread->heap, class, p);
    }
    return true;
}
