/* Bytes of page bits, one for each unit, and rows of free slots, from which whole free pages follow. */
#include "space/pages.h"

#include "os/fatal.h"

_Static_assert(UNIT_BYTES / 4096 <= 8, "a byte has the bits of a unit's pages");

static uint8_t pages_of_unit(void)
{
    return pages_mask(0, ((size_t)UNIT_BYTES >> pages_shift()) - 1);
}

/* Changes the bits of pages of one unit. */
static void unit_set(size_t unit, uint8_t mask, bool there)
{
    atomic_u8 *const pages = &arena.pages[unit];
    const uint8_t old = load_plain(pages);
    invariant(mask != 0 && (mask & ~pages_of_unit()) == 0);
    store_plain(pages, (uint8_t)(there ? old | mask : old & ~mask));
}

void pages_set(const char *from, const char *to, bool there)
{
    const unsigned shift = pages_shift();
    const size_t begin = (uintptr_t)from - arena.base, end = (uintptr_t)to - 1 - arena.base;
    const size_t first = (begin & (UNIT_BYTES - 1)) >> shift, last = (end & (UNIT_BYTES - 1)) >> shift;
    const size_t first_unit = begin >> UNIT_SHIFT, last_unit = end >> UNIT_SHIFT;
    const uint8_t all = pages_of_unit();
    invariant(from < to);
    if (first_unit == last_unit) {
        unit_set(first_unit, pages_mask(first, last), there);
        return;
    }
    unit_set(first_unit, all & (uint8_t)(all << first), there);
    for (size_t unit = first_unit + 1; unit < last_unit; unit++) {
        store_plain(&arena.pages[unit], there ? all : 0);
    }
    unit_set(last_unit, pages_mask(0, last), there);
}

void pages_touch_units(uint32_t first, uint32_t n)
{
    const uint8_t all = pages_of_unit();
    const uint64_t eight = all * UINT64_C(0x0101010101010101);
    invariant(n != 0 && first + n <= load_plain(&arena.committed_units));
    for (uint32_t unit = first; unit < first + n;) {
        if (unit % sizeof eight == 0 && first + n - unit >= sizeof eight) {
            store_plain((atomic_u64 *)(uintptr_t)&arena.pages[unit], eight);
            unit += sizeof eight;
        } else {
            store_plain(&arena.pages[unit++], all);
        }
    }
}

size_t pages_there_bytes(size_t first, size_t n)
{
    size_t pages = 0;
    uint64_t eight;
    invariant(first + n <= load_plain(&arena.committed_units));
    for (size_t unit = first; unit < first + n;) {
        if (unit % sizeof eight == 0 && first + n - unit >= sizeof eight) {
            eight = load_plain((const atomic_u64 *)(uintptr_t)&arena.pages[unit]);
            unit += sizeof eight;
        } else {
            eight = load_plain(&arena.pages[unit++]);
        }
        pages += bit_count(eight);
    }
    return pages << pages_shift();
}

/* Whether a page is there, of those that the bits tell apart. */
static bool page_is_there(const char *p)
{
    const size_t offset = (uintptr_t)p - arena.base;
    invariant(arena_has_unit(offset >> UNIT_SHIFT));
    return (load_plain(&arena.pages[offset >> UNIT_SHIFT]) >> ((offset & (UNIT_BYTES - 1)) >> pages_shift()) & 1) != 0;
}

size_t pages_gone_bytes(const char *from, const char *to)
{
    const size_t page = (size_t)1 << pages_shift();
    size_t gone = 0;
    invariant(from <= to);
    for (const char *at = from; at < to;) {
        const char *const next = (const char *)round_down((uintptr_t)at, page) + page;
        const char *const end = next < to ? next : to;
        gone += page_is_there(at) ? 0 : (size_t)(end - at);
        at = end;
    }
    return gone;
}

size_t pages_narrow(char **from, char **to)
{
    const size_t page = os_page_bytes();
    char *const first = (char *)round_up((uintptr_t)*from, page);
    char *const end = (char *)round_down((uintptr_t)*to, page);
    size_t there = 0;
    *from = *to = first;
    for (char *at = first; at < end; at += page) {
        const size_t bytes = page - pages_gone_bytes(at, at + page);
        if (bytes != 0) {
            *from = there == 0 ? at : *from;
            *to = at + page;
            there += bytes;
        }
    }
    invariant((size_t)(*to - *from) >= there);
    return there;
}

void slot_set_read(struct slot_set *set, const struct run *slab, const struct class_geometry *geometry)
{
    for (unsigned w = 0; w < BITMAP_WORDS; w++) {
        set->word[w] = w < geometry->words ? load_relaxed(&slab->bitmap[w]) & class_word_mask(geometry, w) : 0;
    }
}

uint32_t slot_set_count(const struct slot_set *set)
{
    uint32_t count = 0;
    for (unsigned w = 0; w < BITMAP_WORDS; w++) {
        invariant((set->word[w] & ~ALL_SLOTS) == 0);
        count += bit_count(set->word[w]);
    }
    return count;
}

bool slot_set_next_row(const struct slot_set *set, const struct class_geometry *geometry, struct slot_row *row)
{
    const unsigned slots = geometry->slots;
    unsigned at = row->end;
    uint64_t rest = 0;
    while (at < slots && (rest = set->word[at / WORD_SLOTS] >> at % WORD_SLOTS) == 0) {
        at = (at / WORD_SLOTS + 1) * WORD_SLOTS;
    }
    if (at >= slots) {
        return false;
    }
    at += bit_lowest(rest);
    row->begin = at;
    do { /* to the next slot that is not in the set, or to the end of the word */
        const uint64_t others = ~(set->word[at / WORD_SLOTS] >> at % WORD_SLOTS);
        const unsigned left = WORD_SLOTS - at % WORD_SLOTS;
        at += others == 0 ? left : (unsigned)min_size(bit_lowest(others), left);
    } while (at < slots && at % WORD_SLOTS == 0 && slot_set_has(set, at));
    row->end = at;
    invariant(row->begin < row->end && row->end <= slots);
    return true;
}

size_t slot_row_narrow(const struct run *slab, const struct class_geometry *geometry, const struct slot_row *row,
                       char **from, char **to)
{
    const size_t size = geometry->size, all = (size_t)geometry->units << UNIT_SHIFT;
    invariant(row->begin < row->end && row->end <= geometry->slots && row->end * size <= all);
    *from = arena_address(run_index(slab)) + row->begin * size;
    *to = arena_address(run_index(slab)) + (row->end == geometry->slots ? all : row->end * size);
    return pages_narrow(from, to);
}

size_t pages_free_bytes(const struct run *slab, const struct class_geometry *geometry, const struct slot_set *set)
{
    size_t bytes = 0;
    for (struct slot_row row = { .end = 0 }; slot_set_next_row(set, geometry, &row);) {
        char *from, *to;
        bytes += slot_row_narrow(slab, geometry, &row, &from, &to);
        invariant(bytes <= (size_t)geometry->units << UNIT_SHIFT);
    }
    return bytes;
}
