/* Each bin is a list through the runs' descriptors. A bitmap of the bins that are not empty makes a search one look at
 * a few words. */
#include "space/size_bins.h"

#include "os/fatal.h"

enum {
    EXACT_BINS = 32, /* lengths that have a bin each; longer ones have four a doubling */
    EXACT_SHIFT = 5,
    UNITS_LOG = 30,
};

_Static_assert(ARENA_UNITS_MOST <= 1 << UNITS_LOG && EXACT_BINS == 1 << EXACT_SHIFT &&
                   EXACT_BINS + ((UNITS_LOG - EXACT_SHIFT) << 2) + 3 < BINS && BINS % 64 == 0,
               "the longest run has a bin");

unsigned size_bins_of(uint32_t n)
{
    invariant(n > 0 && n <= ARENA_UNITS_MOST);
    if (n <= EXACT_BINS) {
        return n - 1;
    }
    const unsigned log = bit_highest(n);
    const unsigned bin = EXACT_BINS + ((log - EXACT_SHIFT) << 2) + ((n >> (log - 2)) & 3);
    invariant(bin < BINS);
    return bin;
}

void size_bins_link(struct size_bins *bins, uint32_t first)
{
    struct run *const run = &arena.runs[first];
    invariant(first != 0 && run->kind > RUN_USED && run->kind < RUN_KINDS);
    const unsigned bin = size_bins_of(run->units);
    uint32_t *const head = &bins->heads[run->kind - 1][bin];
    invariant(*head != first && (*head != 0) == size_bins_has(bins, run->kind, bin));
    run->prev = 0;
    run->next = *head;
    if (*head != 0) {
        invariant(arena.runs[*head].kind == run->kind && arena.runs[*head].prev == 0);
        arena.runs[*head].prev = first;
    }
    *head = first;
    bins->occupied[run->kind - 1][bin / 64] |= (uint64_t)1 << (bin % 64);
}

void size_bins_unlink(struct size_bins *bins, uint32_t first)
{
    const struct run *const run = &arena.runs[first];
    const unsigned bin = size_bins_of(run->units);
    uint32_t *const head = &bins->heads[run->kind - 1][bin];
    invariant(run->kind != RUN_USED && (run->prev == 0) == (*head == first));
    invariant(size_bins_has(bins, run->kind, bin));
    if (run->prev != 0) {
        invariant(arena.runs[run->prev].next == first);
        arena.runs[run->prev].next = run->next;
    } else {
        *head = run->next;
        if (run->next == 0) {
            bins->occupied[run->kind - 1][bin / 64] &= ~((uint64_t)1 << (bin % 64));
        }
    }
    if (run->next != 0) {
        invariant(arena.runs[run->next].prev == first);
        arena.runs[run->next].prev = run->prev;
    }
}

unsigned size_bins_occupied(const struct size_bins *bins, unsigned kind, unsigned bin)
{
    invariant(kind > RUN_USED && kind < RUN_KINDS);
    for (; bin < BINS; bin = (bin | 63) + 1) {
        const uint64_t occupied = bins->occupied[kind - 1][bin / 64] >> (bin % 64);
        if (occupied != 0) {
            return bin + bit_lowest(occupied);
        }
    }
    return BINS;
}
