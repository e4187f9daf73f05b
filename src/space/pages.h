/* Pages: which pages of the units are there, a bit for each, out of line.
 *
 * A bit is set when something that lies on the page, or on a part of it, is handed out, and cleared when the page goes
 * back to the system. It outlives what the unit serves for. So a page whose bit is clear is not there, and reads as
 * zero. A page whose bit is set was handed out: it is there, unless nobody has written to it.
 *
 * A page here is one of the system's, or a unit where pages are longer. Of such long pages the system takes back only
 * whole ones.
 *
 * Invariants: the pages of a slot that is neither in its slab nor claimed are there. So are those of a large block and
 * of a chunk, except for pages at the end of a chunk that were never filled. A clean run has no pages.
 *
 * Threads: the owner of a unit, or the holder of the slab that it belongs to, writes. Others read at any time, and may
 * see a page as it was. */
#ifndef TSLAB_SPACE_PAGES_H
#define TSLAB_SPACE_PAGES_H

#include "space/arena.h"

always_inline unsigned pages_shift(void)
{
    return (unsigned)min_size(bit_lowest(os_page_bytes()), UNIT_SHIFT);
}

/* The bits of the pages of a unit, from the number `first` to `last`. */
always_inline uint8_t pages_mask(size_t first, size_t last)
{
    return (uint8_t)((2u << last) - (1u << first));
}

/* Says of all pages between two addresses that they are there, or that they are not. */
void pages_set(const char *from, const char *to, bool there);

/* The memory between two addresses is handed out. */
always_inline void pages_touch(const char *from, const char *to)
{
    const size_t first = (uintptr_t)from - arena.base, last = (uintptr_t)to - 1 - arena.base;
    invariant(from < to);
    if (first >> UNIT_SHIFT == last >> UNIT_SHIFT) {
        const unsigned shift = pages_shift();
        atomic_u8 *const pages = &arena.pages[first >> UNIT_SHIFT];
        const uint8_t mask = pages_mask((first & (UNIT_BYTES - 1)) >> shift, (last & (UNIT_BYTES - 1)) >> shift);
        const uint8_t there = load_plain(pages);
        if ((mask & ~there) != 0) {
            store_plain(pages, there | mask);
        }
    } else {
        pages_set(from, to, true);
    }
}

/* The same of whole units. */
void pages_touch_units(uint32_t first, uint32_t n);

/* The bytes of n units that are on pages that are there. */
size_t pages_there_bytes(size_t first, size_t n);

/* The bytes between two addresses that lie on pages that are not there. */
size_t pages_gone_bytes(const char *from, const char *to);

/* Narrows a stretch to the system's whole pages in it, from the first to the last that is there, and returns the bytes
 * of those that are there. 0: none. */
size_t pages_narrow(char **from, char **to);

/* A set of slots of one slab. */
struct slot_set {
    uint64_t word[BITMAP_WORDS];
};

always_inline bool slot_set_has(const struct slot_set *set, unsigned slot)
{
    return (set->word[slot / WORD_SLOTS] >> (slot % WORD_SLOTS) & 1) != 0;
}

/* The number of slots in the set. */
uint32_t slot_set_count(const struct slot_set *set);

/* The slots that are in the slab right now. It may be a slab of another class by now. */
void slot_set_read(struct slot_set *set, const struct run *slab, const struct class_geometry *geometry);

/* A row of slots in the set, by their numbers. */
struct slot_row {
    unsigned begin, end;
};

/* Finds the next row at or after row->end. False: there is none. */
bool slot_set_next_row(const struct slot_set *set, const struct class_geometry *geometry, struct slot_row *row);

/* Narrows a row of a slab, as pages_narrow. The bytes behind the last slot belong to the row that ends with it. */
size_t slot_row_narrow(const struct run *slab, const struct class_geometry *geometry, const struct slot_row *row,
                       char **from, char **to);

/* The bytes of whole pages that are there although every slot on them is in the set. */
size_t pages_free_bytes(const struct run *slab, const struct class_geometry *geometry, const struct slot_set *set);

#endif
