#include "core/handle.h"

#include "core/object.h"

enum { GENERATION_BITS = 28, SLOT_INDEX_BITS = 10, UNIT_BITS = 26, HANDLE_ALIGN = 64 };

static atomic_u32 last_generation;

/* The generation that a slot is lent with. */
static atomic_u32 *lent(const void *object)
{
    return (atomic_u32 *)(uintptr_t)chunk_code(object);
}

/* What stands in the codes of a slot that is lent with a generation. No chunk can have such codes, whatever becomes of
 * the memory while somebody comes late with an old handle: a code of 128 or more is followed by zeros. */
static uint32_t lent_word(uint32_t generation)
{
    return 0x8080u | (generation & 0x7f) | (generation >> 7 & 0x7f) << 8 | generation >> 14 << 16;
}

/* Never 0, so that a handle is not 0 either, and one that says so is nobody's. */
static uint32_t next_generation(void)
{
    uint32_t generation;
    do {
        generation = (fetch_add_relaxed(&last_generation, 1) + 1) & (uint32_t)bit_mask(GENERATION_BITS);
    } while (generation == 0);
    return generation;
}

/* A hold of the epoch that serves the handles of an epoch. */
static struct hold *borrow_serving(struct thread *thread, uint64_t value, int *status)
{
    struct epoch *epoch = epoch_by_value(value);
    if (epoch == NULL || !epoch_is_open(epoch)) {
        *status = epoch == NULL ? TSLAB_STALE : TSLAB_CLOSED;
        return NULL;
    }
    struct epoch *handles = epoch_serving(epoch);
    if (handles == NULL) {
        struct hold *hold = scope_borrow(thread, value, status);
        if (hold == NULL) {
            return NULL;
        }
        handles = scope_serve_handles(thread, hold->epoch);
        scope_return(thread, hold);
        if (handles == NULL) {
            *status = TSLAB_NO_MEMORY;
            return NULL;
        }
    }
    struct hold *hold = scope_borrow(thread, epoch_value(handles), status);
    /* By then the user's epoch may be gone, and the other record serve somebody else. */
    if (hold != NULL && !(epoch_serving(epoch) == hold->epoch && epoch_is_open(epoch) &&
                          epoch_same_generation(load_seq_cst(&epoch->word), value))) {
        scope_return(thread, hold);
        *status = TSLAB_CLOSED;
        return NULL;
    }
    return hold;
}

/* Lends a slot that is allocated; 0: it lies beyond what handles can name, and was given back. */
static uint64_t lend(struct thread *thread, void *p)
{
    const unsigned class = tag_class(stat_get(&arena.units[arena_unit(p)].tag));
    const struct slot slot = slot_of(p, class);
    const uint64_t unit = slab_index(slot.slab);
    const uint64_t index = (uint64_t)slot.word * WORD_SLOTS + bit_lowest(slot.mask);
    if (unit >> UNIT_BITS != 0) {
        stat_add(&thread->heap.class[class].counters.remote_frees, 1);
        heap_free_direct(&thread->heap, class, p);
        return 0;
    }
    const uint32_t generation = next_generation();
    store_release(lent(p), lent_word(generation));
    return unit << (GENERATION_BITS + SLOT_INDEX_BITS) | index << GENERATION_BITS | generation;
}

uint64_t handle_alloc(struct thread *thread, uint64_t epoch, size_t size, void **object, int *status)
{
    struct hold *hold = borrow_serving(thread, epoch, status);
    if (hold == NULL) {
        return 0;
    }
    char *const p = scope_alloc_slot(thread, hold, size, HANDLE_ALIGN);
    uint64_t handle = 0;
    if (p == NULL) {
        *status = epoch_is_open(hold->epoch) ? TSLAB_NO_MEMORY : TSLAB_CLOSED;
    } else {
        /* While the hold is ours: afterwards the slab may be released. */
        handle = lend(thread, p);
        *status = TSLAB_NO_MEMORY;
        *object = p;
    }
    scope_return(thread, hold);
    return handle;
}

/* The place that a handle names in the epoch, whether it is lent to this handle or not; NULL: none. */
static void *named_place(uint64_t value, uint64_t handle, unsigned *class)
{
    const struct epoch *epoch = epoch_by_value(value);
    const struct epoch *handles = epoch == NULL ? NULL : epoch_serving(epoch);
    const size_t unit = handle >> (GENERATION_BITS + SLOT_INDEX_BITS);
    const unsigned slot = (unsigned)(handle >> GENERATION_BITS & bit_mask(SLOT_INDEX_BITS));
    /* A unit without a tag of a class has no slab, and if it lies in a gap of the arena, it has no descriptor either.
     */
    if (handles == NULL || !arena_has_unit(unit) || tag_class(stat_get(&arena.units[unit].tag)) == CLASS_NONE) {
        return NULL;
    }
    /* A slab of that epoch starts at the unit, or has just been recycled, and then no slot in it is lent. */
    const uint32_t word = load_seq_cst(&arena.slabs[unit].word);
    *class = word_class(word);
    if (word_state(word) == SLAB_EMPTY || *class == CLASS_NONE || word_epoch(word) != handles->id ||
        slot >= class_geometry[*class].slots) {
        return NULL;
    }
    return arena_address((uint32_t)unit) + (size_t)slot * class_geometry[*class].size;
}

void *handle_get(uint64_t epoch, uint64_t handle)
{
    unsigned class;
    void *p = named_place(epoch, handle, &class);
    const uint32_t generation = (uint32_t)(handle & bit_mask(GENERATION_BITS));
    return p != NULL && load_acquire(lent(p)) == lent_word(generation) ? p : NULL;
}

bool handle_free_object(struct thread *thread, uint64_t epoch, uint64_t handle)
{
    unsigned class;
    void *p = named_place(epoch, handle, &class);
    const uint32_t generation = (uint32_t)(handle & bit_mask(GENERATION_BITS));
    uint32_t word = lent_word(generation);
    if (p == NULL || !cas_acq_rel(lent(p), &word, 0)) {
        return false;
    }
    if (TSLAB_CHECKED) {
        object_end(p);
    }
    stat_add(&thread->heap.class[class].counters.remote_frees, 1);
    heap_free_direct(&thread->heap, class, p);
    return true;
}
