/* Lays the side tables out below the units at fixed distances, and extends both by mappings at exact addresses. Where
 * an address is taken, the arena skips it in growing steps. */
#include "space/arena.h"

#include "common/guard.h"
#include "common/option.h"

enum {
    STEP_UNITS_MIN = (4 << 20) / UNIT_BYTES,
    STEP_UNITS_MAX = (1 << 30) / UNIT_BYTES,
    STEP_SHIFT = 3, /* a step is an eighth of what is committed */
    SPAN_UNITS_MIN = 64,
    /* 256 GiB, the most where the kernel chooses the place. ThreadSanitizer leaves less than a TiB for mappings. */
    SPAN_UNITS_SUGGESTED = 1 << 24,
    PLACES_TRIED = 4,
    /* The base lies behind the first eighth of the address space, where programs and their data are. The arena ends
     * before the end of the fifth eighth, behind which the kernel puts programs, libraries and stacks. */
    SPACE_PART = 8,
    SPACE_PARTS_BEFORE = 1,
    SPACE_PARTS_WITH = 5,
};

_Alignas(CACHE_LINE) struct arena arena;

/* Committed by arena_start, to make sure that the place is good. No units: handed out by now. */
static struct stretch first_step;

struct table arena_tables[TABLES] = {
    [TABLE_TAGS] = { .unit_bytes = sizeof(struct unit) },
    [TABLE_PAGES] = { .unit_bytes = 1 },
    [TABLE_RUNS] = { .unit_bytes = sizeof(struct run) },
    [TABLE_REVISITS] = { .unit_bytes = sizeof(struct revisit) },
    [TABLE_CODES] = { .unit_bytes = UNIT_BYTES / GRANULE_BYTES },
#if TSLAB_CHECKED
    [TABLE_LIVE] = { .unit_bytes = UNIT_BYTES / GRANULE_BYTES / 8 },
#endif
};

/* Pages, and units. */

static uint32_t page_units(void)
{
    return (uint32_t)max_size(os_page_bytes() >> UNIT_SHIFT, 1);
}

uint32_t arena_page_up(uint32_t unit)
{
    invariant(unit != 0);
    return (uint32_t)round_up(unit - 1, page_units()) + 1;
}

uint32_t arena_page_down(uint32_t unit)
{
    invariant(unit != 0);
    return (uint32_t)round_down(unit - 1, page_units()) + 1;
}

/* Choosing a place. */

static size_t table_align(void)
{
    return max_size(os_page_bytes(), UNIT_BYTES);
}

/* The bytes of addresses that an arena of this many units needs, with a page between the tables and at both ends. */
static size_t window_bytes(size_t units)
{
    size_t bytes = ((units + CHUNK_UNITS) << UNIT_SHIFT) + (size_t)(2 * (TABLES + 2)) * table_align();
    for (unsigned t = 0; t < TABLES; t++) {
        bytes += units * arena_tables[t].unit_bytes;
    }
    return bytes;
}

/* Lays the arena out from an address on. The tables lie below the units, so that an object that overflows never runs
 * into them. */
static void lay_out(uintptr_t start, size_t units)
{
    const size_t align = table_align();
    uintptr_t at = round_up(start, align) + align;
    for (unsigned t = 0; t < TABLES; t++) {
        arena_tables[t].start = arena_tables[t].end = at;
        counter_set(&arena_tables[t].mapped_bytes, 0);
        at = round_up(at + units * arena_tables[t].unit_bytes, align) + align;
    }
    at = round_up(at, (size_t)CHUNK_UNITS * UNIT_BYTES); /* so that the codes of a chunk are whole pages */
    at += align - UNIT_BYTES; /* unit 1, the first that is handed out, starts a page, whatever the size of pages */
    arena.base = at;
    arena.units = (struct unit *)arena_tables[TABLE_TAGS].start;
    arena.pages = (atomic_u8 *)arena_tables[TABLE_PAGES].start;
    arena.runs = (struct run *)arena_tables[TABLE_RUNS].start;
    arena.revisits = (struct revisit *)arena_tables[TABLE_REVISITS].start;
    arena.codes = (atomic_u8 *)arena_tables[TABLE_CODES].start;
    arena.codes_of_zero = (atomic_u8 *)((uintptr_t)arena.codes - (at >> GRANULE_SHIFT));
#if TSLAB_CHECKED
    arena.live = (atomic_u64 *)arena_tables[TABLE_LIVE].start;
#endif
    arena.span_units = arena_page_down((uint32_t)units); /* whole pages, as everything that is committed */
    invariant(at % UNIT_BYTES == 0 && (at + UNIT_BYTES) % os_page_bytes() == 0);
    invariant(arena.span_units <= ARENA_UNITS_MOST && arena_tables[TABLES - 1].start < at);
}

size_t arena_unopened_bytes(void)
{
    return (size_t)owned_load(&first_step.units) << UNIT_SHIFT;
}

/* Committing. */

/* The ends of the pages of a table that have entries of the units from `first` to `end`. */
static uintptr_t table_from(const struct table *table, size_t first)
{
    return round_down(table->start + first * table->unit_bytes, os_page_bytes());
}

static uintptr_t table_to(const struct table *table, size_t end)
{
    return round_up(table->start + end * table->unit_bytes, os_page_bytes());
}

static enum os_placed table_map(struct table *table, uintptr_t from, uintptr_t to, enum os_access access)
{
    from = max_size(from, table->end);
    if (to <= from) {
        return OS_PLACED;
    }
    invariant(from % os_page_bytes() == 0 && to % os_page_bytes() == 0 && from >= table->start);
    const enum os_placed placed = os_place((void *)from, to - from, access);
    if (placed == OS_PLACED) {
        table->end = to;
        counter_add(&table->mapped_bytes, access == OS_ACCESS_WRITE ? to - from : 0);
    }
    return placed;
}

/* Makes the entries of a table about the units from `first` to `end` accessible. The tags and the page bits of a gap
 * become readable, too. Parts that were mapped before a failure stay mapped. The next attempt maps only the rest. */
static enum os_placed table_extend(enum arena_table name, size_t first, size_t end)
{
    struct table *const table = &arena_tables[name];
    const uintptr_t from = table_from(table, first);
    if (name == TABLE_TAGS || name == TABLE_PAGES) {
        const enum os_placed placed = table_map(table, table->end, from, OS_ACCESS_READ);
        if (placed != OS_PLACED) {
            return placed;
        }
    }
    return table_map(table, from, table_to(table, end), OS_ACCESS_WRITE);
}

/* Memory comes without huge pages. By the option, all of it may have them, or a large arena may ask for single ones
 * (huge_pages.h). */
static void choose_pages(size_t first, size_t end)
{
    invariant(first > 0 && first < end && end <= arena.span_units);
    if (option_get(OPTION_HUGE_PAGES) == HUGE_PAGES_ALWAYS) {
        (void)os_allow_huge(arena_address((uint32_t)first), (end - first) << UNIT_SHIFT, true);
    }
}

/* Makes the units from `first` to `end` accessible, and their entries in the tables. */
static enum os_placed commit_units(size_t first, size_t end)
{
    invariant(first > 0 && first < end && end <= arena.span_units);
    char *const start = arena_address((uint32_t)first);
    const size_t bytes = (end - first) << UNIT_SHIFT;
    enum os_placed placed = os_place(start, bytes, OS_ACCESS_WRITE);
    if (placed != OS_PLACED) {
        return placed;
    }
    for (unsigned t = TABLES; t-- > 0 && placed == OS_PLACED;) {
        placed = table_extend((enum arena_table)t, first, end);
    }
    invariant(first == arena_page_up((uint32_t)first) && end == arena_page_up((uint32_t)end));
    if (placed != OS_PLACED && !os_unmap(start, bytes)) {
        /* These addresses cannot be mapped again: they become a gap, although the mapping there is ours. */
        return OS_TAKEN;
    }
    if (placed == OS_PLACED) {
        choose_pages(first, end);
    }
    return placed;
}

/* The end of n units that start at a multiple of align units at or after `from`. 0 when it lies beyond the span. */
static size_t aligned_end(size_t from, size_t n, size_t align)
{
    const uintptr_t address = arena.base + (from << UNIT_SHIFT);
    const uintptr_t start = round_up(address, align << UNIT_SHIFT);
    const size_t first = (start - arena.base) >> UNIT_SHIFT;
    if (start < address || first >= arena.span_units || n > arena.span_units - first) {
        return 0;
    }
    invariant(first >= from && first + n <= arena.span_units);
    return first + n;
}

static size_t step_units(void)
{
    const size_t step = load_relaxed(&arena.committed_units) >> STEP_SHIFT;
    return step < STEP_UNITS_MIN ? STEP_UNITS_MIN : min_size(step, STEP_UNITS_MAX);
}

/* Where a step of at least this length ends: in a large arena at the end of a huge page. */
static size_t step_end(size_t end)
{
    if (end > HUGE_FROM_UNITS) {
        end = (round_up(arena.base + (end << UNIT_SHIFT), (size_t)HUGE_UNITS << UNIT_SHIFT) - arena.base) >> UNIT_SHIFT;
    }
    invariant(end <= HUGE_FROM_UNITS || ((uintptr_t)arena_address((uint32_t)end) >> UNIT_SHIFT) % HUGE_UNITS == 0);
    return min_size(end, arena.span_units);
}

/* Commits units from `first` on: at least a page, and up to *end, and where that succeeds so many that they are a whole
 * step with the `tail` units before. The units needed may still fit where the step does not, or lie before `first`
 * where a search did not find them. *end receives the end of what was committed. */
static enum os_placed commit_step(size_t first, size_t tail, size_t *end)
{
    if (first >= arena.span_units) {
        return OS_NO_MEMORY;
    }
    const size_t least = arena_page_up((uint32_t)max_size(*end, first + 1));
    size_t target = arena_page_down((uint32_t)max_size(least, step_end(first - tail + step_units())));
    enum os_placed placed;
    while ((placed = commit_units(first, max_size(target, least))) != OS_PLACED && target > least) {
        target = arena_page_up((uint32_t)(least + (target - least) / 2 / page_units() * page_units()));
        target = target - least < STEP_UNITS_MIN / 4 ? least : target;
    }
    invariant(max_size(target, least) >= *end && max_size(target, least) <= arena.span_units);
    *end = max_size(target, least);
    return placed;
}

/* Tries to place the arena at an address, and to commit the first step. */
static enum os_placed begin_at(uintptr_t start, size_t units)
{
    lay_out(start, units);
    store_relaxed(&arena.committed_units, 0);
    size_t end = 2;
    const enum os_placed placed = commit_step(1, 0, &end);
    if (placed == OS_PLACED) {
        first_step.first = 1;
        owned_store(&first_step.units, (uint32_t)end - 1);
        return placed;
    }
    for (unsigned t = 0; t < TABLES; t++) {
        (void)os_unmap((void *)arena_tables[t].start, arena_tables[t].end - arena_tables[t].start);
    }
    return placed;
}

/* Starts at a random place in the middle of the address space. False when the tried places are all taken, or there is
 * no memory. */
static bool start_at_random(size_t units)
{
    const size_t space = os_address_space();
    const uintptr_t from = space / SPACE_PART * SPACE_PARTS_BEFORE;
    const uintptr_t to = space / SPACE_PART * SPACE_PARTS_WITH;
    const size_t bytes = window_bytes(units);
    if (to - from <= bytes) {
        return false;
    }
    const size_t places = (to - from - bytes) / table_align();
    const uint64_t random = os_random_place();
    enum os_placed placed = OS_TAKEN;
    for (unsigned i = 0; i < PLACES_TRIED && placed == OS_TAKEN; i++) {
        placed = begin_at(from + (random % places + places / PLACES_TRIED * i) % places * table_align(), units);
    }
    return placed == OS_PLACED;
}

/* Starts where the kernel itself would put the arena: for emulators and sanitizers, whose address spaces differ. */
static bool start_where_the_kernel_says(size_t units)
{
    for (units = min_size(units, SPAN_UNITS_SUGGESTED); units >= SPAN_UNITS_MIN; units /= 2) {
        const size_t bytes = window_bytes(units);
        void *const start = os_reserve(bytes);
        if (start != NULL) {
            return os_unmap(start, bytes) && begin_at((uintptr_t)start, units) == OS_PLACED;
        }
    }
    return false;
}

bool arena_start(size_t bytes)
{
    invariant(load_plain(&arena.committed_units) == 0);
    const size_t most = os_address_space() / SPACE_PART / UNIT_BYTES;
    const size_t units = min_size(min_size(bytes / UNIT_BYTES, ARENA_UNITS_MOST), most);
    if (!(os_may_choose_addresses() && start_at_random(units)) && !start_where_the_kernel_says(units)) {
        arena.span_units = 0;
        return false;
    }
    if (GUARDED) {
        guard_start();
    }
    /* This opens a file, which later might be forbidden. */
    const bool asks = option_get(OPTION_HUGE_PAGES) == HUGE_PAGES_ADAPTIVE && os_page_bytes() == HUGE_OF_PAGE_BYTES;
    store_plain(&arena.is_huge_on_request, asks && os_huge_on_request() ? 1 : 0);
    return true;
}

/* Growing further. */

struct stretch arena_extend(size_t n, size_t align, size_t tail)
{
    invariant(n > 0 && is_power_of_two(align) && arena.span_units != 0);
    struct stretch fresh = first_step;
    if (fresh.units != 0) {
        owned_store(&first_step.units, 0);
        return fresh;
    }
    const size_t top = load_relaxed(&arena.committed_units);
    invariant(tail < top && top <= arena.span_units);
    size_t from = top;
    size_t end = aligned_end(top - tail, n, align);
    enum os_placed placed = OS_TAKEN;
    for (size_t skip = STEP_UNITS_MIN; end != 0 && placed == OS_TAKEN; skip *= 2) {
        placed = commit_step(from, from == top ? tail : 0, &end);
        if (placed == OS_PLACED) {
            fresh = (struct stretch){ (uint32_t)from, (uint32_t)(end - from) };
        }
        from += skip; /* the mapping in the way may be long, so the steps over it grow */
        end = aligned_end(from, n, align);
    }
    invariant(fresh.units == 0 || fresh.first >= top);
    return fresh;
}

void arena_publish(const struct stretch *fresh)
{
    invariant(fresh->units != 0 && fresh->first >= load_plain(&arena.committed_units));
    store_release(&arena.committed_units, fresh->first + fresh->units);
}

/* Giving back. */

/* The whole pages of a table that have entries of the units from `first` to `end` only. False: there is no such page.
 */
static bool table_inside(const struct table *table, size_t first, size_t end, char **start, size_t *bytes)
{
    const uintptr_t from = round_up(table->start + first * table->unit_bytes, os_page_bytes());
    const uintptr_t to = round_down(table->start + end * table->unit_bytes, os_page_bytes());
    *start = (char *)from;
    *bytes = to - from;
    return to > from;
}

/* The long tables. For an empty run, only the descriptor of its first unit in them means anything. */
static const enum arena_table long_tables[] = { TABLE_RUNS, TABLE_CODES };
enum { LONG_TABLES = sizeof long_tables / sizeof long_tables[0] };

void arena_purge_tables(uint32_t first, uint32_t n)
{
    invariant(first != 0 && n != 0 && first + n <= load_plain(&arena.committed_units));
    for (unsigned i = 0; i < LONG_TABLES; i++) {
        char *start;
        size_t bytes;
        if (table_inside(&arena_tables[long_tables[i]], first + 1, first + n, &start, &bytes)) {
            (void)os_purge(start, bytes);
        }
    }
}

bool arena_remap(uint32_t first, uint32_t n)
{
    invariant(first == arena_page_up(first) && first + n == arena_page_up(first + n));
    invariant(n != 0 && first + n <= load_plain(&arena.committed_units));
    if (os_place(arena_address(first), (size_t)n << UNIT_SHIFT, OS_ACCESS_WRITE) != OS_PLACED) {
        return false;
    }
    choose_pages(first, first + n);
    return true;
}

void arena_untag(uint32_t first, uint32_t units)
{
    invariant(first != 0 && units != 0 && first + units <= load_plain(&arena.committed_units));
    for (uint32_t i = 0; i < units; i++) {
        store_plain(&arena.units[first + i].tag, TAG_NONE);
    }
}
