#include "core/checked.h"

#include "base/fatal.h"
#include "core/arena.h"
#include "core/chunk.h"
#include "core/slab.h"

#if TSLAB_CHECKED

static atomic_u64 *live_word(const void *p, uint64_t *mask)
{
    const size_t granule = ((uintptr_t)p - arena.base) >> GRANULE_SHIFT;
    *mask = (uint64_t)1 << (granule % 64);
    return &arena.live[granule / 64];
}

void *checked_born(void *p)
{
    if (p != NULL && arena_has_unit(arena_unit(p))) {
        uint64_t mask;
        atomic_u64 *word = live_word(p, &mask);
        if ((atomic_fetch_or_explicit(word, mask, memory_order_relaxed) & mask) != 0) {
            fatal_pointer("broken invariant: handed out twice:", p);
        }
    }
    return p;
}

/* Says what is wrong with p, at whose address no object lives. */
static _Noreturn void complain_about(const void *p)
{
    const uint32_t tag = stat_get(&arena.units[arena_unit(p)].tag);
    if (tag_class(tag) != CLASS_NONE) {
        (void)slot_of(p, tag_class(tag)); /* says that p is interior, when it is */
    }
    if (tag == TAG_CHUNK) {
        chunk_no_object(p);
    }
    const bool is_start = p == (const void *)arena_address((uint32_t)arena_unit(p));
    if (tag == TAG_LARGE && !is_start) {
        slot_is_interior(p);
    }
    fatal_pointer(tag == TAG_NONE ? "double or wild free of" : "double free of", p);
}

/* Units without a tag have no objects, and those of a gap in the arena no bits either. */
static bool can_live(const void *p)
{
    return (uintptr_t)p % GRANULE_BYTES == 0 && stat_get(&arena.units[arena_unit(p)].tag) != TAG_NONE;
}

void checked_dies(void *p)
{
    if (p == NULL || !arena_has_unit(arena_unit(p))) {
        return; /* outside the arena nothing of ours lives */
    }
    uint64_t mask;
    atomic_u64 *word = live_word(p, &mask);
    if (!can_live(p) || (atomic_fetch_and_explicit(word, ~mask, memory_order_relaxed) & mask) == 0) {
        complain_about(p);
    }
}

void checked_forget(const void *start, size_t bytes)
{
    const size_t end = (((uintptr_t)start - arena.base) + bytes) >> GRANULE_SHIFT;
    size_t granule = ((uintptr_t)start - arena.base) >> GRANULE_SHIFT;
    while (granule < end) {
        const size_t n = min_size(end - granule, 64 - granule % 64);
        (void)atomic_fetch_and_explicit(&arena.live[granule / 64], ~(bit_mask((unsigned)n) << (granule % 64)),
                                        memory_order_relaxed);
        granule += n;
    }
}

void checked_lives(const void *p)
{
    if (p == NULL || !arena_has_unit(arena_unit(p))) {
        return;
    }
    uint64_t mask;
    atomic_u64 *word = live_word(p, &mask);
    if (!can_live(p) || (stat_get(word) & mask) == 0) {
        complain_about(p);
    }
}

#else

void *checked_born(void *p)
{
    return p;
}

/* uncounted: only checked builds call it */
void checked_dies(void *p)
{
    (void)p;
}

void checked_forget(const void *start, size_t bytes)
{
    (void)start;
    (void)bytes;
}

void checked_lives(const void *p)
{
    (void)p;
}

#endif
