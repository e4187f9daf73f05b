/* The bits are changed by atomic operations, and a change that finds the bit as it should become is the misuse. */
#include "space/live_bits.h"

#if TSLAB_CHECKED

#include "common/misuse.h"
#include "os/fatal.h"
#include "space/arena.h"

static atomic_u64 *live_word(const void *p, uint64_t *mask)
{
    const size_t granule = ((uintptr_t)p - arena.base) >> GRANULE_SHIFT;
    *mask = (uint64_t)1 << (granule % 64);
    return &arena.live[granule / 64];
}

void *live_bits_born(void *p)
{
    if (p != NULL && arena_has_unit(arena_unit(p))) {
        invariant((uintptr_t)p % GRANULE_BYTES == 0);
        uint64_t mask;
        atomic_u64 *word = live_word(p, &mask);
        if ((fetch_or_plain(word, mask) & mask) != 0) {
            misuse("broken invariant: handed out twice:", p);
        }
    }
    return p;
}

/* Units without a tag have no objects. The units of a gap in the arena have no bits either. */
static bool can_live(const void *p)
{
    return (uintptr_t)p % GRANULE_BYTES == 0 && load_plain(&arena.units[arena_unit(p)].tag) != TAG_NONE;
}

void live_bits_dies(void *p)
{
    if (p == NULL || !arena_has_unit(arena_unit(p))) {
        return; /* no object of ours lives outside the arena */
    }
    uint64_t mask;
    atomic_u64 *word = live_word(p, &mask);
    if (!can_live(p) || (fetch_and_plain(word, ~mask) & mask) == 0) {
        misuse_no_object(p);
    }
}

void live_bits_forget(const void *start, size_t bytes)
{
    invariant((uintptr_t)start % GRANULE_BYTES == 0 && bytes % GRANULE_BYTES == 0);
    invariant(arena_has_unit(arena_unit(start)));
    const size_t end = (((uintptr_t)start - arena.base) + bytes) >> GRANULE_SHIFT;
    size_t granule = ((uintptr_t)start - arena.base) >> GRANULE_SHIFT;
    while (granule < end) {
        const size_t n = min_size(end - granule, 64 - granule % 64);
        (void)fetch_and_plain(&arena.live[granule / 64], ~(bit_mask((unsigned)n) << (granule % 64)));
        granule += n;
    }
}

void live_bits_check(const void *p)
{
    if (p == NULL || !arena_has_unit(arena_unit(p))) {
        return;
    }
    uint64_t mask;
    atomic_u64 *word = live_word(p, &mask);
    if (!can_live(p) || (load_plain(word) & mask) == 0) {
        misuse_no_object(p);
    }
}

uint64_t live_bits_from(const void *start)
{
    invariant(((uintptr_t)start - arena.base) % ((size_t)64 * GRANULE_BYTES) == 0);
    uint64_t mask;
    return load_plain(live_word(start, &mask));
}

bool live_bits_have(const void *p)
{
    uint64_t mask;
    const atomic_u64 *word = live_word(p, &mask);
    return (load_plain(word) & mask) != 0;
}

#endif
