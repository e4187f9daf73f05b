/* Each walk adds to a sum of its own. The accounts are put together at the end. */
#include "audit/accounts.h"

#include "audit/census.h"
#include "common/metadata.h"
#include "os/fatal.h"
#include "os/file.h"
#include "os/os.h"
#include "slab/chunk.h"
#include "slab/handle_table.h"
#include "space/depot.h"
#include "space/pages.h"
#include "space/trap.h"
#include "thread/exchange.h"
#include "thread/thread.h"

#include <string.h>

#define ACCOUNT_NAME(name, ...) #name,
const char *const account_names[ACCOUNTS] = { ACCOUNT_FIGURES(ACCOUNT_NAME) };
_Static_assert(sizeof(struct accounts) == offsetof(struct accounts, live_slots) + ACCOUNTS * sizeof(struct account),
               "the accounts are in a row");

static struct account all_of(uint64_t bytes)
{
    return (struct account){ bytes, bytes };
}

static struct account none_of(uint64_t bytes)
{
    return (struct account){ bytes, 0 };
}

static void account_add(struct account *account, uint64_t bytes, uint64_t untouched)
{
    invariant(untouched <= bytes);
    account->bytes += bytes;
    account->untouched_bytes += untouched;
}

/* Which pages of the arena have memory, as the kernel tells in /proc/self/pagemap, by an entry for each page, whose
 * highest bit says so, or by mincore, by a byte, whose lowest bit does. The engine knows which pages it handed out
 * (pages.h), of which a program may have written to fewer. To ask takes system calls, so only reports do. NULL: nobody
 * asks, or the kernel does not tell, and all pages that were handed out count. */
enum { PAGES_AT_ONCE = 1024 };
struct resident {
    int file;            /* of pagemap; -1: mincore is called */
    size_t first, count; /* the pages that were asked for last, by their numbers */
    union {
        uint64_t entries[PAGES_AT_ONCE / sizeof(uint64_t)];
        unsigned char bytes[PAGES_AT_ONCE];
    } told;
};

static void ask_for_pages(struct resident *resident, size_t page)
{
    const size_t entry = sizeof resident->told.entries[0];
    resident->first = page;
    if (resident->file >= 0) {
        resident->count = os_read_at(resident->file, page * entry, &resident->told, sizeof resident->told) / entry;
        return;
    }
    /* It refuses pages that are not mapped, which may lie behind this one. */
    resident->count = PAGES_AT_ONCE;
    while (resident->count != 0 && !os_pages_resident(page, resident->count, resident->told.bytes)) {
        resident->count /= PAGES_AT_ONCE >> 5;
    }
    invariant(resident->count <= PAGES_AT_ONCE);
}

static bool page_has_memory(struct resident *resident, size_t page)
{
    if (page - resident->first >= resident->count) {
        ask_for_pages(resident, page);
        if (resident->count == 0) {
            return true;
        }
    }
    const size_t at = page - resident->first;
    invariant(at < resident->count);
    return resident->file >= 0 ? resident->told.entries[at] >> 63 != 0 : (resident->told.bytes[at] & 1) != 0;
}

/* The bytes of a range on pages that have memory. */
static size_t resident_range_bytes(struct resident *resident, const void *start, size_t bytes)
{
    const size_t page = os_page_bytes(), from = (uintptr_t)start / page,
                 to = round_up((uintptr_t)start + bytes, page) / page;
    size_t pages = 0;
    for (size_t at = from; at < to; at++) {
        pages += page_has_memory(resident, at);
    }
    invariant(pages <= to - from);
    return pages * page;
}

/* The bytes of n units on pages that were handed out and have memory. */
static size_t there_bytes(struct resident *resident, size_t first, size_t n)
{
    if (resident == NULL) {
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

/* The bytes between two addresses of the arena on pages that were not handed out, or have no memory. */
static size_t bytes_gone(struct resident *resident, const char *from, const char *to)
{
    const size_t page = os_page_bytes();
    size_t gone = 0;
    if (resident == NULL) {
        return pages_gone_bytes(from, to);
    }
    for (const char *at = from; at < to;) {
        const char *const next = (const char *)round_down((uintptr_t)at, page) + page;
        const char *const end = next < to ? next : to;
        const bool there = pages_gone_bytes(at, end) == 0 && page_has_memory(resident, (uintptr_t)at / page);
        gone += there ? 0 : (size_t)(end - at);
        at = end;
    }
    invariant(from <= to && gone <= (size_t)(to - from));
    return gone;
}

/* The runs in use. */

struct use_tally {
    uint64_t used_slot_bytes; /* of slabs: not in the bitmap */
    uint64_t open_live_bytes; /* in chunks that have a cursor */
    uint64_t open_gone_bytes; /* in these, before the page that the cursor is on */
    uint64_t claimed_gone_bytes;
    uint64_t there_bytes;             /* of all runs, on pages that are there */
    uint64_t free_bytes[CLASS_LIMIT]; /* in the bitmaps of a class, on pages that were handed out */
    uint64_t bare_bytes[CLASS_LIMIT]; /* of its slabs, on pages that were handed out and not touched */
    uint64_t slab_units, chunk_units, large_units;
    uint64_t kept_units; /* of chunks without codes in the table */
    uint64_t large_runs;
};

static void add_slab(struct accounts *accounts, struct use_tally *tally, const struct census_run *run)
{
    const struct class_geometry *const geometry = &class_geometry[run->class];
    struct census_slab slab;
    census_slab(run, &slab);
    const uint64_t free = (uint64_t)slab.free_slots * geometry->size, tail = census_tail_bytes(run->class);
    const bool held = word_state(run->word) == SLAB_ATTACHED;
    account_add(held ? &accounts->attached_slabs : &accounts->partial_slabs, free, slab.free_gone_bytes);
    account_add(&accounts->slab_tails, tail, slab.tail_gone_bytes);
    tally->free_bytes[run->class] += not_below_zero(free, slab.free_gone_bytes);
    tally->claimed_gone_bytes += slab.claimed_gone_bytes;
    tally->used_slot_bytes += (uint64_t)(geometry->slots - slab.free_slots) * geometry->size;
    tally->slab_units += run->units;
}

/* The cursor of a chunk tells its free granules. */
static void add_chunk(struct accounts *accounts, struct use_tally *tally, const struct census_run *run,
                      struct resident *resident)
{
    const uint32_t full = load_plain(&arena.runs[run->first].full);
    const bool open = full == 0;
    size_t live;
    (void)chunk_count(run->first, &live);
    live = min_size(live, CHUNK_BYTES);
    invariant(run->units == CHUNK_UNITS && live % GRANULE_BYTES == 0);
    if (open) {
        tally->open_live_bytes += live;
    } else {
        const uint64_t filled = max_size(min_size((size_t)full << GRANULE_SHIFT, CHUNK_BYTES), live);
        const char *const start = arena_address(run->first), *const end = start + CHUNK_BYTES;
        const uint64_t dead = filled - live;
        account_add(&accounts->live_chunks, live, 0);
        account_add(&accounts->dead_in_chunks, dead, min_size(bytes_gone(resident, start, start + filled), dead));
        account_add(&accounts->unfilled_chunks, CHUNK_BYTES - filled, bytes_gone(resident, start + filled, end));
        tally->chunk_units += CHUNK_UNITS;
        tally->kept_units += chunk_has_table(run->first) ? 0 : CHUNK_UNITS;
    }
}

static void add_large(struct accounts *accounts, struct use_tally *tally, const struct census_run *run,
                      size_t bare_bytes)
{
    invariant(run->large_bytes != 0 && run->large_bytes <= (uint64_t)run->units << UNIT_SHIFT);
    const uint64_t bare = min_size(bare_bytes, run->large_bytes);
    const uint64_t tail = ((uint64_t)run->units << UNIT_SHIFT) - run->large_bytes;
    account_add(&accounts->live_large, run->large_bytes, bare);
    account_add(&accounts->large_tails, tail, min_size(bare_bytes - bare, tail));
    tally->large_units += run->units;
    tally->large_runs++;
}

static void add_runs(struct accounts *accounts, struct use_tally *tally, struct resident *resident)
{
    for (struct census_run run = { .first = 0 }; census_next(&run);) {
        const size_t there = there_bytes(resident, run.first, run.units);
        const size_t bare = resident == NULL ? 0 : not_below_zero(pages_there_bytes(run.first, run.units), there);
        tally->there_bytes += there;
        switch (run.kind) {
        case CENSUS_SLAB:
            add_slab(accounts, tally, &run);
            tally->bare_bytes[run.class] += bare;
            break;
        case CENSUS_CHUNK:
            add_chunk(accounts, tally, &run, resident);
            break;
        case CENSUS_LARGE:
            add_large(accounts, tally, &run, bare);
            break;
        }
    }
}

/* The chunks that have a cursor. A record that is FREE and has a chunk is a warm one, or about to be. */

static void add_cursor(struct accounts *accounts, struct use_tally *tally, const struct cursor *cursor, bool warm,
                       struct resident *resident, uint64_t *filled_bytes)
{
    const uint64_t start = load_plain(&cursor->start), at = load_plain(&cursor->at);
    if (start == NO_CHUNK) {
        return;
    }
    const uint64_t granules = at - start <= CHUNK_GRANULES ? at - start : 0;
    const uint64_t rest = (CHUNK_GRANULES - granules) << GRANULE_SHIFT;
    invariant(granules <= CHUNK_GRANULES &&
              start % (UNIT_BYTES / GRANULE_BYTES) == (arena.base >> GRANULE_SHIFT) % (UNIT_BYTES / GRANULE_BYTES));
    /* Whether the page is there that the cursor is on, the bits need not tell yet. */
    const uint64_t untold = min_size(round_up((start + granules) << GRANULE_SHIFT, (size_t)1 << pages_shift()) -
                                         ((start + granules) << GRANULE_SHIFT),
                                     rest);
    const char *const end = (const char *)((start + CHUNK_GRANULES) << GRANULE_SHIFT);
    account_add(warm ? &accounts->warm_chunks : &accounts->unfilled_chunks, rest,
                bytes_gone(resident, end - rest + untold, end));
    /* Nor do they for what is filled. */
    const char *const first = end - CHUNK_BYTES;
    const size_t before = round_down(granules << GRANULE_SHIFT, (size_t)1 << pages_shift());
    tally->open_gone_bytes += resident == NULL ? 0 : before - resident_range_bytes(resident, first, before);
    *filled_bytes += granules << GRANULE_SHIFT;
    tally->chunk_units += CHUNK_UNITS;
}

static void add_cursors(struct accounts *accounts, struct use_tally *tally, struct resident *resident)
{
    uint64_t filled = 0;
    uint32_t at = 0;
    for (const struct epoch *epoch; (epoch = epoch_next(&at)) != NULL;) {
        const bool warm = epoch_word_state(load_seq_cst(&epoch->word)) == EPOCH_FREE;
        for (const struct hold *hold = epoch_first_hold(epoch); hold != NULL; hold = hold_next(hold)) {
            add_cursor(accounts, tally, &hold->cursor, warm, resident, &filled);
        }
    }
    invariant(filled <= tally->chunk_units << UNIT_SHIFT);
    const uint64_t live = min_size(tally->open_live_bytes, filled);
    account_add(&accounts->live_chunks, live, 0);
    account_add(&accounts->dead_in_chunks, filled - live, min_size(tally->open_gone_bytes, filled - live));
}

/* The slots of heaps. */

void accounts_held(unsigned class, struct class_held *held)
{
    invariant(class != CLASS_NONE && class < CLASS_LIMIT);
    memset(held, 0, sizeof *held);
    for (const struct thread *thread = load_acquire(&registry.made); thread != NULL; thread = thread->made_before) {
        heap_add_held(&thread->heap, class, held);
    }
    for (const struct heap *heap = load_acquire(&heap_made); heap != NULL; heap = heap->made_before) {
        heap_add_held(heap, class, held);
    }
}

static uint64_t hot_runs_bytes(void)
{
    uint64_t units = 0;
    for (const struct thread *thread = load_acquire(&registry.made); thread != NULL; thread = thread->made_before) {
        invariant(thread->heap.epoch == &epoch_process);
        units += hot_runs_units(&thread->heap.hot);
    }
    for (const struct heap *heap = load_acquire(&heap_made); heap != NULL; heap = heap->made_before) {
        invariant(heap->epoch != &epoch_process);
        units += hot_runs_units(&heap->hot);
    }
    return units << UNIT_SHIFT;
}

/* Which slots of a class lie on its untouched pages is not known, but for fresh ones in magazines. Cached slots and
 * then free ones are taken to, as far as they go, as many were never handed to the program. Objects have the rest. */

/* Adds slots of which *bare bytes are untouched, as far as they go, and takes these out. */
static uint64_t add_bare(struct account *account, uint64_t bytes, uint64_t *bare)
{
    const uint64_t untouched = min_size(bytes, *bare);
    account_add(account, bytes, untouched);
    *bare -= untouched;
    return bytes;
}

/* Returns the bytes of all cached slots. */
static uint64_t add_cached(struct accounts *accounts, struct use_tally *tally)
{
    uint64_t cached = 0;
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        const uint64_t size = class_geometry[c].size, exchanged = exchange_slots(c);
        uint64_t *const bare = &tally->bare_bytes[c];
        struct class_held held;
        accounts_held(c, &held);
        *bare = max_size(*bare, held.magazine_untouched);
        cached += add_bare(&accounts->magazines, held.magazine * size, bare);
        cached += add_bare(&accounts->exchange, exchanged * size, bare);
        cached += add_bare(&accounts->outboxes, held.outbox * size, bare);
        account_add(&accounts->claimed, held.claimed * size, 0);
        cached += held.claimed * size;
    }
    return cached;
}

/* Metadata. The kernel tells how much of a side table has pages. Else it is an estimate from the entries of present
 * runs, without those of past runs that gave no pages of the tables back. */

static struct account table_account(struct resident *resident, enum arena_table name, uint64_t written_units)
{
    const struct table *const table = &arena_tables[name];
    const uint64_t mapped = counter_get(&table->mapped_bytes), units = load_acquire(&arena.committed_units);
    const uint64_t there = resident != NULL && units != 0
                               ? resident_range_bytes(resident, (const void *)table->start, units * table->unit_bytes)
                               : round_up(written_units * table->unit_bytes, os_page_bytes());
    invariant(mapped % os_page_bytes() == 0 && there % os_page_bytes() == 0);
    return (struct account){ mapped, not_below_zero(mapped, there) };
}

static void add_tables(struct accounts *accounts, const struct use_tally *tally, struct resident *resident,
                       uint64_t used_units, uint64_t dirty_units)
{
    const uint64_t touched = used_units + dirty_units;
    /* Of a large run, only the first descriptor is written. Chunks write codes. */
    const uint64_t inside =
        not_below_zero(tally->large_units, tally->large_runs * (os_page_bytes() / sizeof(struct run)));
    accounts->tag_table = table_account(resident, TABLE_TAGS, touched);
    const struct account pages = table_account(resident, TABLE_PAGES, touched);
    account_add(&accounts->tag_table, pages.bytes, pages.untouched_bytes);
    accounts->run_table = table_account(resident, TABLE_RUNS, not_below_zero(touched, inside));
    accounts->revisit_table = table_account(resident, TABLE_REVISITS, 0);
    accounts->code_table = table_account(resident, TABLE_CODES, tally->chunk_units - tally->kept_units);
#if TSLAB_CHECKED
    accounts->check_table = table_account(resident, TABLE_LIVE, touched);
#endif
}

static void add_records(struct accounts *accounts)
{
    const struct thread *const last = owned_load(&registry.last);
    const uint64_t mapped = counter_get(&metadata_mapped_bytes), bytes = counter_get(&meta_bytes);
    const uint64_t trays = counter_get(&tray_bytes);
    invariant(trays % CACHE_LINE == 0 && sizeof *last % CACHE_LINE == 0);
    uint64_t threads = last != NULL ? sizeof *last : 0, heaps = 0;
    for (const struct thread *thread = load_acquire(&registry.made); thread != NULL; thread = thread->made_before) {
        threads += thread != last ? sizeof *thread : 0;
    }
    for (const struct heap *heap = load_acquire(&heap_made); heap != NULL; heap = heap->made_before) {
        heaps += sizeof *heap;
    }
    accounts->tray_records.bytes = min_size(trays, bytes);
    accounts->tray_records.untouched_bytes = min_size(counter_get(&tray_gone_bytes), accounts->tray_records.bytes);
    accounts->thread_records = none_of(min_size(threads, bytes - accounts->tray_records.bytes));
    accounts->heap_records =
        none_of(min_size(heaps, bytes - accounts->tray_records.bytes - accounts->thread_records.bytes));
    accounts->epoch_records.bytes = not_below_zero(bytes, trays + threads + heaps);
    const uint64_t gone = epoch_records_gone_bytes() + counter_get(&handle_tables_gone_bytes);
    accounts->epoch_records.untouched_bytes = min_size(gone, accounts->epoch_records.bytes);
    const uint64_t unused = not_below_zero(mapped, bytes);
    accounts->unused_records = (struct account){ unused, not_below_zero(unused, counter_get(&metadata_torn_bytes)) };
    invariant(accounts->epoch_records.bytes <= bytes);
}

/* Puts the parts together. */

/* Takes the untouched pages that cached slots left, class by class, to be under free slots, then under objects. */
static void add_live_slots(struct accounts *accounts, const struct use_tally *tally, uint64_t live)
{
    struct account *const partial = &accounts->partial_slabs, *const attached = &accounts->attached_slabs;
    uint64_t free = 0, bare = 0;
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        const uint64_t of_free = min_size(tally->bare_bytes[c], tally->free_bytes[c]);
        free += of_free;
        bare += tally->bare_bytes[c] - of_free;
    }
    const uint64_t of_partial = min_size(free, partial->bytes - partial->untouched_bytes);
    partial->untouched_bytes += of_partial;
    attached->untouched_bytes += free - of_partial;
    accounts->live_slots = (struct account){ live, min_size(bare, live) };
}

static uint64_t kind_bytes(enum run_kind kind)
{
    return (uint64_t)counter_get(&depot.units[kind]) << UNIT_SHIFT;
}

/* Takes the pages of an account of runs that nobody uses out of those that are there of all such runs. Which of them
 * has them, is known only of all together. */
static struct account idle_account(uint64_t bytes, uint64_t *there)
{
    const uint64_t own = min_size(bytes, *there);
    invariant(bytes % UNIT_BYTES == 0);
    *there -= own;
    return (struct account){ bytes, bytes - own };
}

static struct accounts_gap add_up(struct accounts *accounts, struct resident *resident)
{
    struct use_tally tally = { .slab_units = 0 };
    memset(accounts, 0, sizeof *accounts);
    add_runs(accounts, &tally, resident);
    const uint64_t cached = add_cached(accounts, &tally);
    add_cursors(accounts, &tally, resident);
    accounts->claimed.untouched_bytes = min_size(tally.claimed_gone_bytes, accounts->claimed.bytes);
    const uint64_t live = not_below_zero(tally.used_slot_bytes, cached);
    add_live_slots(accounts, &tally, live);
    accounts->trapped_runs = all_of((uint64_t)counter_get(&trap_units) << UNIT_SHIFT);
    const uint64_t there = there_bytes(resident, 1, load_acquire(&arena.committed_units) - 1);
    uint64_t idle = not_below_zero(there, tally.there_bytes);
    accounts->hot_runs = idle_account(hot_runs_bytes(), &idle);
    accounts->dirty_runs = idle_account(kind_bytes(RUN_DIRTY), &idle);
    accounts->clean_runs = all_of(kind_bytes(RUN_CLEAN));
    accounts->unopened_units = all_of(arena_unopened_bytes());
    const uint64_t used = kind_bytes(RUN_USED), purging = (uint64_t)counter_get(&depot.purging_units) << UNIT_SHIFT;
    const uint64_t found = ((tally.slab_units + tally.chunk_units + tally.large_units) << UNIT_SHIFT) +
                           accounts->hot_runs.bytes + accounts->trapped_runs.bytes;
    accounts->moving_runs = none_of(not_below_zero(used, found));
    add_tables(accounts, &tally, resident, used >> UNIT_SHIFT, accounts->dirty_runs.bytes >> UNIT_SHIFT);
    add_records(accounts);

    accounts->committed_bytes = used + accounts->dirty_runs.bytes + accounts->clean_runs.bytes +
                                accounts->unopened_units.bytes + counter_get(&metadata_mapped_bytes);
    for (unsigned table = 0; table < TABLES; table++) {
        accounts->committed_bytes += counter_get(&arena_tables[table].mapped_bytes);
    }
    for (unsigned i = 0; i < ACCOUNTS; i++) {
        invariant(account_of(accounts, i)->untouched_bytes <= account_of(accounts, i)->bytes);
        accounts->untouched_bytes += account_of(accounts, i)->untouched_bytes;
    }
    invariant(accounts->moving_runs.bytes == 0 || used == found + accounts->moving_runs.bytes);
    return (struct accounts_gap){ .runs = (int64_t)(used - found - purging),
                                  .slots = (int64_t)not_below_zero(cached, tally.used_slot_bytes) };
}

struct accounts_gap accounts_take(struct accounts *accounts, enum resident_by by)
{
    struct resident resident;
    /* Of pages longer than a unit, the bits of the engine do not tell enough. */
    const bool tells = os_page_bytes() <= UNIT_BYTES && by != RESIDENT_UNTOLD;
    invariant(by <= RESIDENT_UNTOLD);
    resident.file = tells && by == RESIDENT_BY_FILE ? os_open_to_read("/proc/self/pagemap") : -1;
    resident.first = resident.count = 0;
    const bool asks = tells && (by == RESIDENT_BY_CALL || resident.file >= 0);
    const struct accounts_gap gap = add_up(accounts, asks ? &resident : NULL);
    if (resident.file >= 0) {
        os_close(resident.file);
    }
    return gap;
}
