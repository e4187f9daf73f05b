/* An entry for each page. Its highest bit says that the page has memory. */
#include "audit/resident.h"

#include "os/fatal.h"
#include "os/file.h"
#include "space/pages.h"

void resident_open(struct resident *resident)
{
    /* Of pages longer than a unit, the bits of the engine do not tell enough. */
    resident->file = os_page_bytes() <= UNIT_BYTES ? os_open_to_read("/proc/self/pagemap") : -1;
    resident->first = resident->count = 0;
}

void resident_close(struct resident *resident)
{
    if (resident->file >= 0) {
        os_close(resident->file);
    }
}

static bool page_has_memory(struct resident *resident, size_t page)
{
    const size_t entry = sizeof resident->entries[0];
    if (page - resident->first >= resident->count) {
        resident->first = page;
        resident->count = os_read_at(resident->file, page * entry, resident->entries, sizeof resident->entries) / entry;
        if (resident->count == 0) {
            return true;
        }
    }
    invariant(page - resident->first < sizeof resident->entries / entry);
    return resident->entries[page - resident->first] >> 63 != 0;
}

size_t resident_range_bytes(struct resident *resident, const void *start, size_t bytes)
{
    const size_t page = os_page_bytes(), from = (uintptr_t)start / page,
                 to = round_up((uintptr_t)start + bytes, page) / page;
    size_t pages = 0;
    for (size_t at = from; resident->file >= 0 && at < to; at++) {
        pages += page_has_memory(resident, at);
    }
    invariant(pages <= to - from);
    return resident->file >= 0 ? pages * page : bytes;
}

size_t resident_bytes(struct resident *resident, size_t first, size_t n)
{
    if (resident->file < 0) {
        return pages_there_bytes(first, n);
    }
    const unsigned shift = pages_shift();
    size_t pages = 0;
    for (size_t unit = first; unit < first + n; unit++) {
        const size_t number = (arena.base + (unit << UNIT_SHIFT)) >> shift;
        for (uint64_t bits = load_plain(&arena.pages[unit]); bits != 0; bits &= bits - 1) {
            pages += page_has_memory(resident, number + bit_lowest(bits));
        }
    }
    invariant(pages << shift <= n << UNIT_SHIFT);
    return pages << shift;
}
