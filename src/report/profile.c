/* When sampling begins or its rate changes, all gates are taken, as for a fork. The holders of heaps may push and pop
 * meanwhile; the words that they write are owned (atomic.h). */
#include "report/profile.h"

#include "audit/census.h"
#include "malloc/current_thread.h"
#include "os/call_stack.h"
#include "os/fatal.h"
#include "os/os.h"
#include "slab/chunk.h"
#include "thread/keeper.h"
#include "thread/sampling.h"

#include <string.h>

/* On and off. The keeper's lock keeps two threads that switch, and a fork, apart. */

static void gates(void (*change)(struct lock *))
{
    invariant(lock_is_held(&registry.lock));
    for (struct thread *thread = registry.live; thread != NULL; thread = thread->next) {
        change(&thread->gate.lock);
    }
}

static unsigned stop_counts(unsigned times)
{
    unsigned stopped = 0;
    invariant(samples_were_on() && counter_get(&samples.changes) != 0);
    invariant(lock_is_held(&registry.lock) && lock_is_held(&keeper.lock));
    for (struct thread *thread = load_acquire(&registry.made); thread != NULL; thread = thread->made_before) {
        stopped += sampling_stop(&thread->heap, times);
    }
    for (struct heap *heap = load_acquire(&heap_made); heap != NULL; heap = heap->made_before) {
        stopped += sampling_stop(heap, times);
    }
    return stopped;
}

/* A stop may meet a write of the fast path, which is done and seen by all some nanoseconds later, and undoes it. So it
 * is repeated, many times in a row: a thread in a short loop undoes single ones a hundred times
 * (docs/decisions/profiles.md). */
static void stop_all_counts(void)
{
    enum { STOPS_MOST = 100, IN_A_ROW = TSLAB_SIM ? 1 : 64, PAUSE_SPINS = TSLAB_SIM ? 1 : 1000 };
    for (unsigned i = 0; i < STOPS_MOST && stop_counts(i == 0 ? 1 : IN_A_ROW) != 0; i++) {
        for (unsigned spin = 0; spin < PAUSE_SPINS; spin++) {
            cpu_relax();
        }
    }
}

/* With all gates taken, no other thread places a count or changes the affinity of a slab as it did before
 * samples.were_on was set.
 *
 * Signals are blocked, because a handler might fork, and would wait for its own thread. */
static void switch_on(uint64_t period)
{
    struct os_signals signals;
    invariant(lock_is_held(&keeper.lock) && period != 0);
    if (load_plain(&samples.seed) == 0) {
        store_plain(&samples.seed, os_random());
    }
    os_signals_hold(&signals);
    lock_acquire(&registry.lock);
    gates(lock_acquire);
    store_plain(&samples.period, period);
    counter_add(&samples.changes, 1);
    store_seq_cst(&samples.is_on, 1);
    stop_all_counts();
    gates(lock_release);
    lock_release(&registry.lock);
    os_signals_restore(&signals);
}

static void switch_off(void)
{
    invariant(lock_is_held(&keeper.lock));
    store_seq_cst(&samples.is_on, 0);
}

bool profile_set(uint64_t period)
{
    if (period == 0 && load_plain(&samples.is_on) == 0) {
        return true;
    }
    struct thread *const thread = current_thread_get();
    if (thread == NULL) {
        return false;
    }
    gate_lock(&thread->gate);
    const bool started = samples_start();
    gate_unlock(&thread->gate);
    if (!started) {
        current_thread_put(thread);
        return false;
    }
    stack_prepare();
    lock_acquire(&keeper.lock);
    if (period != 0) {
        switch_on(period);
    } else {
        switch_off();
        gate_lock(&thread->gate);
        samples_end_all();
        gate_unlock(&thread->gate);
    }
    lock_release(&keeper.lock);
    current_thread_put(thread);
    return true;
}

/* What lives. */

bool profile_live(uint32_t number, struct sample *sample, uint64_t *bytes)
{
    if (!samples_copy(number, sample) || samples_is_dead(sample)) {
        return false;
    }
    const char *const p = (const char *)sample->address;
    invariant(sample->address != 0 && sample->stack <= load_plain(&samples.stacks));
    /* It may be freed meanwhile. */
    *bytes = sample->run != 0 ? sample->life == 0 ? sample->bytes : size_code_bytes(load_plain(size_code_at(p)))
             : arena_tag(p) == TAG_LARGE ? owned_load(&arena.runs[arena_unit(p)].large_bytes)
                                         : 0;
    return *bytes != 0;
}

/* What is kept. */

struct page {
    uint32_t bytes, objects, live_bytes;
};

static bool page_is_sparse(const struct page *page)
{
    invariant(page->live_bytes <= page->bytes);
    return page->objects != 0 && page->live_bytes <= page->bytes / 2;
}

static bool slot_is_used(const struct run *slab, unsigned slot)
{
    return (load_plain(&slab->bitmap[slot / WORD_SLOTS]) >> slot % WORD_SLOTS & 1) == 0;
}

/* The page of a slab from this offset on. */
static struct page page_at(uint32_t first, unsigned class, size_t from)
{
    const struct class_geometry *const geometry = &class_geometry[class];
    const size_t size = geometry->size;
    invariant(from % os_page_bytes() == 0 && from < (size_t)geometry->units << UNIT_SHIFT);
    struct page page = { .bytes = (uint32_t)min_size(os_page_bytes(), ((size_t)geometry->units << UNIT_SHIFT) - from) };
    const size_t to = from + page.bytes, end = min_size((to + size - 1) / size, geometry->slots);
    for (size_t slot = from / size; slot < end; slot++) {
        if (slot_is_used(&arena.runs[first], (unsigned)slot)) {
            page.objects++;
            page.live_bytes += (uint32_t)(min_size(to, (slot + 1) * size) - max_size(from, slot * size));
        }
    }
    return page;
}

/* The pages of a chunk. A last one stands for its codes and descriptors, which go back when no object lives in it. */
enum {
    CHUNK_PAGES = CHUNK_BYTES / 4096,
    SIDE_PAGE = CHUNK_PAGES,
    PAGES_OF_CHUNK,
    SIDE_BYTES = CHUNK_GRANULES + CHUNK_UNITS * sizeof(struct run),
};

static size_t chunk_page_bytes(void)
{
    return min_size(os_page_bytes(), CHUNK_BYTES);
}

/* Adds an object of a chunk to the pages that it lies on. */
static void add_object(struct page *pages, size_t from, size_t to)
{
    const size_t bytes = chunk_page_bytes();
    invariant(from < to);
    pages[SIDE_PAGE].objects++;
    pages[SIDE_PAGE].live_bytes += (uint32_t)((to - from) >> GRANULE_SHIFT);
    for (size_t at = round_down(from, bytes); at < to && at < CHUNK_BYTES; at += bytes) {
        struct page *const page = &pages[at / bytes];
        page->objects++;
        page->live_bytes += (uint32_t)(min_size(to, at + bytes) - max_size(from, at));
    }
}

/* While a thread fills the chunk, its pages have no objects. */
static void pages_of_chunk(uint32_t first, struct page *pages)
{
    const atomic_u64 *const codes = (const atomic_u64 *)(uintptr_t)size_code_at(arena_address(first));
    invariant(CHUNK_BYTES / chunk_page_bytes() <= CHUNK_PAGES);
    for (size_t i = 0; i < PAGES_OF_CHUNK; i++) {
        pages[i] = (struct page){ .bytes = i == SIDE_PAGE ? SIDE_BYTES : (uint32_t)chunk_page_bytes() };
    }
    if (load_plain(&arena.runs[first].live) > CHUNK_GRANULES) {
        return;
    }
    for (size_t at = 0; at < CHUNK_GRANULES; at++) {
        if (at % sizeof *codes == 0 && load_plain(&codes[at / sizeof *codes]) == 0) {
            at += sizeof *codes - 1;
            continue;
        }
        const unsigned code = load_plain(size_code_at(arena_address(first) + (at << GRANULE_SHIFT)));
        if (code != 0) {
            add_object(pages, at << GRANULE_SHIFT, (at << GRANULE_SHIFT) + size_code_bytes(code));
        }
    }
    for (size_t i = 0; i < PAGES_OF_CHUNK; i++) { /* it may be another run by now */
        pages[i].live_bytes = (uint32_t)min_size(pages[i].live_bytes, pages[i].bytes);
    }
}

static void keep_page(struct kept *kept, const struct page *page)
{
    if (page_is_sparse(page)) {
        invariant(page->bytes <= CHUNK_BYTES && page->live_bytes < page->bytes);
        kept->pages += page->bytes;
        kept->wasted += page->bytes - page->live_bytes;
    }
}

void profile_kept(struct kept *by_class)
{
    memset(by_class, 0, CLASS_LIMIT * sizeof *by_class);
    for (struct census_run run = { .first = 0 }; census_next(&run);) {
        struct page pages[PAGES_OF_CHUNK];
        if (run.kind == CENSUS_CHUNK) {
            pages_of_chunk(run.first, pages);
            for (size_t i = 0; i < PAGES_OF_CHUNK; i++) {
                keep_page(&by_class[CLASS_NONE], &pages[i]);
            }
        }
        for (size_t at = 0; run.kind == CENSUS_SLAB && at < (size_t)run.units << UNIT_SHIFT; at += os_page_bytes()) {
            const struct page page = page_at(run.first, run.class, at);
            keep_page(&by_class[run.class], &page);
        }
    }
}

static void charge_page(struct kept *kept, const struct page *page)
{
    if (page_is_sparse(page)) {
        kept->pages += page->bytes / page->objects;
        kept->wasted += (page->bytes - page->live_bytes) / page->objects;
    }
}

struct kept profile_kept_by(const struct sample *sample)
{
    struct kept kept = { .pages = 0 };
    if (sample->run == 0) {
        return kept;
    }
    const size_t from = (size_t)((const char *)sample->address - arena_address(sample->run));
    invariant(from < (size_t)64 << UNIT_SHIFT);
    if (sample->class == CLASS_NONE) {
        struct page pages[PAGES_OF_CHUNK];
        const size_t bytes = chunk_page_bytes();
        const size_t to = from + size_code_bytes(load_plain(size_code_at((const char *)sample->address)));
        pages_of_chunk(sample->run, pages);
        for (size_t at = round_down(from, bytes); at < to && at < CHUNK_BYTES; at += bytes) {
            charge_page(&kept, &pages[at / bytes]);
        }
        charge_page(&kept, &pages[SIDE_PAGE]);
        return kept;
    }
    for (size_t at = round_down(from, os_page_bytes()); at < from + class_geometry[sample->class].size;
         at += os_page_bytes()) {
        const struct page page = page_at(sample->run, sample->class, at);
        charge_page(&kept, &page);
    }
    return kept;
}
