/* Each figure is read where it is counted, at its own moment. Differences of counts of different threads are cut at 0.
 */
#include "report/statistics.h"

#include "audit/census.h"
#include "common/metadata.h"
#include "common/quota.h"
#include "malloc/engine.h"
#include "os/fatal.h"
#include "os/os.h"
#include "space/depot.h"
#include "space/limit.h"
#include "space/pages.h"
#include "space/reclaim.h"
#include "space/trap.h"
#include "thread/exchange.h"
#include "thread/keeper.h"
#include "thread/thread.h"

#include <string.h>

/* The sums over all heaps and lists: heaps in use or not, because their counters go on over all that they serve. No
 * lock, because there may be many. */
void stats_class_counted(unsigned class, struct class_figures *figures)
{
#define FROM_SUMS(name, ...) .name = sums.name,
    const struct class_geometry *geometry = &class_geometry[class];
    const struct partial_counters *lists = &partial_counters[class];
    struct class_sums sums = { 0 };
    invariant(class != CLASS_NONE && class < CLASS_LIMIT);
    for (const struct thread *thread = load_acquire(&registry.made); thread != NULL; thread = thread->made_before) {
        heap_add(&thread->heap, class, &sums);
    }
    for (const struct heap *heap = load_acquire(&heap_made); heap != NULL; heap = heap->made_before) {
        heap_add(heap, class, &sums);
    }
    sums.cached += exchange_slots(class);
    sums.frees += counter_get(&lists->released);
    sums.slabs_recycled = counter_get(&lists->recycled);
    sums.slabs_drained = counter_get(&lists->drained);
    const uint64_t queued = counter_get(&lists->queued);
    sums.harvests = counter_get(&lists->harvests);
    sums.queue_longest = counter_get(&lists->queue_longest);
    sums.queue_length = not_below_zero(queued, counter_get(&lists->harvested));
    *figures = (struct class_figures){
        .size = geometry->size,
        CLASS_COUNTS(FROM_SUMS).misses = class_sums_misses(&sums),
        .slow_paths = sums.refills + sums.flushes + sums.exchanged,
        .live = not_below_zero(sums.allocations, sums.frees),
        .cached_bytes = sums.cached * geometry->size,
        .slab_bytes = not_below_zero(sums.slabs_new, sums.slabs_recycled) * geometry->units << UNIT_SHIFT,
    };
}

static void add_class(struct total_figures *totals, unsigned class, class_seer *see, void *context)
{
#define ADD_TO_TOTALS(name, ...) totals->name += figures.name;
    struct class_figures figures;
    stats_class_counted(class, &figures);
    if (see != NULL) {
        see(context, class, &figures);
    }
    TOTALS_OF_CLASSES(ADD_TO_TOTALS)
    totals->live_objects += figures.live;
    totals->live_bytes += figures.live * figures.size;
    totals->cached_bytes += figures.cached_bytes;
    totals->slab_bytes += figures.slab_bytes;
    totals->slabs_opened += figures.slabs_new;
    totals->queue_longest = max_size(totals->queue_longest, figures.queue_longest);
}

/* The bytes of chunks of epochs, what was allocated there, and how many epochs there are. */
static void add_epochs(struct total_figures *stats)
{
    /* A record that goes to the pool meanwhile may be missed. `told` makes sure that the sum never falls. */
    static atomic_u64 told;
    uint64_t chunks = 0;
    uint64_t granules = load_acquire(&epoch_counters.allocated_granules);
    stats->epochs_drained += counter_get(&epoch_counters.drained);
    uint32_t at = 0;
    for (const struct epoch *epoch; (epoch = epoch_next(&at)) != NULL;) {
        const enum epoch_state state = epoch_word_state(load_seq_cst(&epoch->word));
        stats->epochs_open += state == EPOCH_OPEN;
        stats->epochs_draining += state == EPOCH_DRAINING;
        chunks += counter_get(&epoch->chunks);
        granules += epoch_granules_allocated(epoch);
    }
    stats->chunk_bytes = chunks * CHUNK_BYTES;
    stats->epoch_bytes = counter_raise(&told, granules) << GRANULE_SHIFT;
}

void stats_totals_seen(struct total_figures *stats, class_seer *see, void *context)
{
    memset(stats, 0, sizeof *stats);
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        add_class(stats, c, see, context);
    }
    size_t hot = 0;
    for (const struct thread *thread = load_acquire(&registry.made); thread != NULL; thread = thread->made_before) {
        hot += (size_t)hot_runs_units(&thread->heap.hot) << UNIT_SHIFT;
        stats->epochs_opened += counter_get(&thread->counters.epochs_opened);
        stats->epochs_closed += counter_get(&thread->counters.epochs_closed);
        stats->epochs_drained += counter_get(&thread->counters.epochs_drained);
        stats->work_units += counter_get(&thread->counters.work_units);
    }
    stats->cached_bytes += hot;
    stats->threads = counter_get(&heap_live_count);
    stats->thread_records = counter_get(&registry.record_count);

    const size_t used = counter_get(&depot.units[RUN_USED]) << UNIT_SHIFT;
    const size_t trapped = counter_get(&trap_units) << UNIT_SHIFT;
    add_epochs(stats);
    stats->large_bytes = not_below_zero(used, stats->slab_bytes + stats->chunk_bytes + hot + trapped);
    stats->dirty_bytes = counter_get(&depot.units[RUN_DIRTY]) << UNIT_SHIFT;
    stats->clean_bytes = counter_get(&depot.units[RUN_CLEAN]) << UNIT_SHIFT;
    stats->committed_bytes = used + stats->dirty_bytes + stats->clean_bytes;
    stats->reserved_bytes = arena.span_units << UNIT_SHIFT;
    stats->metadata_bytes = counter_get(&meta_bytes);
    stats->purge_mistakes = counter_get(&purged_lately.mistaken_units) << UNIT_SHIFT;
    stats->limit_refusals = counter_get(&limits.refusals);
    stats->epoch_limit_refusals = counter_get(&limits.epoch_refusals);
    stats->label_limit_refusals = label_limits_refused();
    stats->keeper_looks = counter_get(&keeper.looks);
    stats->purge_calls = counter_get(&reclaim_counters.calls);
    stats->purged_bytes = counter_get(&reclaim_counters.bytes);
    stats->purge_refusals = counter_get(&reclaim_counters.refused);
}

/* The terms of the RSS. */
enum { TERM_LIVE, TERM_WASTE, TERM_CACHES, TERM_RETAINED, TERM_METADATA, TERMS };

void stats_process(struct process_figures *figures, const struct accounts *accounts)
{
#define ADD_TO_TERM(name, term, ...) sums[TERM_##term] += accounts->name.bytes - accounts->name.untouched_bytes;
    uint64_t sums[TERMS] = { 0 };
    ACCOUNT_FIGURES(ADD_TO_TERM)
    const uint64_t rss_bytes = os_resident_bytes();
    struct tslab_limits limits_now;
    limit_get(&limits_now);
    *figures = (struct process_figures){
        .uptime_ms = os_ms_since(engine.started_ms),
        .rss_bytes = rss_bytes,
        .peak_rss_bytes = max_size(os_peak_resident_bytes(), rss_bytes),
        .live = sums[TERM_LIVE],
        .waste = sums[TERM_WASTE],
        .caches = sums[TERM_CACHES],
        .retained = sums[TERM_RETAINED],
        .metadata = sums[TERM_METADATA],
        .hard_limit_bytes = limits_now.hard_bytes,
        .soft_limit_bytes = limits_now.soft_bytes,
        .soft_pressure = load_plain(&limits.state) != LIMIT_CALM,
        .container_pressure = load_plain(&limits.container_presses) != 0,
    };
    invariant(figures->live >= accounts->live_large.bytes - accounts->live_large.untouched_bytes);
    invariant(figures->caches >= accounts->hot_runs.bytes - accounts->hot_runs.untouched_bytes);
}

noinline void stats_process_get(struct process_figures *figures)
{
    struct accounts accounts;
    (void)accounts_take(&accounts, RESIDENT_BY_FILE);
    stats_process(figures, &accounts);
}

/* The slots that lie on a page of a slab, and how many of them are used. The last page may have none. */
static void count_page(struct class_figures *figures, const struct slot_set *free,
                       const struct class_geometry *geometry, size_t from, size_t to)
{
    const unsigned begin = (unsigned)(from / geometry->size);
    const unsigned end = (unsigned)min_size((to + geometry->size - 1) / geometry->size, geometry->slots);
    unsigned used = 0;
    for (unsigned slot = begin; slot < end; slot++) {
        used += !slot_set_has(free, slot);
    }
    const bool kept = used != 0 && begin + used < end;
    invariant(begin <= end && begin + used <= end);
    figures->pages++;
    figures->pages_free += used == 0;
    figures->pages_kept_1 += kept && used <= 1;
    figures->pages_kept_2 += kept && used <= 2;
    figures->pages_kept_4 += kept && used <= 4;
}

/* Returns how many slots are used: not in the bitmap, so an object's, or cached. */
static uint64_t count_slab(struct class_figures *figures, const struct census_run *run)
{
    const struct class_geometry *const geometry = &class_geometry[run->class];
    const size_t page = min_size(os_page_bytes(), UNIT_BYTES), bytes = (size_t)geometry->units << UNIT_SHIFT;
    struct census_slab slab;
    struct slot_set free;
    census_slab(run, &slab);
    invariant(slab.free_slots <= geometry->slots && bytes % page == 0 && run->units == geometry->units);
    figures->slabs_net++;
    figures->slabs_full += slab.free_slots == 0;
    figures->slabs_empty += slab.free_slots == geometry->slots;
    figures->free_bytes += (uint64_t)slab.free_slots * geometry->size;
    figures->untouched_bytes += slab.free_gone_bytes + slab.tail_gone_bytes;
    slot_set_read(&free, &arena.runs[run->first], geometry);
    for (size_t at = 0; at < bytes; at += page) {
        count_page(figures, &free, geometry, at, at + page);
    }
    return geometry->slots - slab.free_slots;
}

static void add_slabs(struct class_figures *figures, unsigned class)
{
    const uint64_t size = figures->size;
    uint64_t used = 0;
    struct class_held held;
    accounts_held(class, &held);
    for (struct census_run run = { .first = 0 }; census_next(&run);) {
        used += run.kind == CENSUS_SLAB && run.class == class ? count_slab(figures, &run) : 0;
    }
    const uint64_t cached = held.magazine + held.outbox + exchange_slots(class) + held.claimed;
    figures->cached_bytes = cached * size;
    invariant(figures->slabs_full + figures->slabs_empty <= figures->slabs_net);
    figures->slabs_partial = figures->slabs_net - figures->slabs_full - figures->slabs_empty;
    figures->live = not_below_zero(used, cached);
    figures->slab_bytes = figures->slabs_net * class_geometry[class].units << UNIT_SHIFT;
    invariant(used * size + figures->free_bytes <= figures->slab_bytes);
    figures->tail_bytes = figures->slabs_net * census_tail_bytes(class);
    invariant(figures->pages_free <= figures->pages && figures->pages_kept_1 <= figures->pages_kept_2);
}

void stats_class_get(unsigned class, struct class_figures *figures)
{
    stats_class_counted(class, figures);
    if (figures->slabs_new != 0) {
        add_slabs(figures, class);
    }
}

void stats_thread(const struct thread *thread, struct thread_figures *stats)
{
#define SINCE_THEN(name) .name = not_below_zero(sums.name, counter_get(&thread->before.name))
    struct class_sums sums = { 0 };
    uint64_t cached_bytes = (size_t)hot_runs_units(&thread->heap.hot) << UNIT_SHIFT;
    invariant(thread->heap.epoch == &epoch_process);
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        const uint64_t cached = sums.cached;
        heap_add(&thread->heap, c, &sums);
        cached_bytes += (sums.cached - cached) * class_geometry[c].size;
    }
    invariant(sums.slabs_new + sums.slabs_attached >= sums.slabs_new && sums.slabs_recycled == 0);
    *stats = (struct thread_figures){
        .thread = load_plain(&thread->number),
        SINCE_THEN(allocations),
        SINCE_THEN(frees),
        .misses = not_below_zero(class_sums_misses(&sums), counter_get(&thread->before.misses)),
        SINCE_THEN(refills),
        SINCE_THEN(flushes),
        .cached_bytes = cached_bytes,
    };
}
