/* Each figure is read where it is counted, at its own moment. Differences of counts of different threads are cut at 0.
 */
#include "report/statistics.h"

#include "audit/accounts.h"
#include "audit/census.h"
#include "common/metadata.h"
#include "epoch/scope.h"
#include "malloc/current_thread.h"
#include "os/fatal.h"
#include "space/depot.h"
#include "space/limit.h"
#include "space/reclaim.h"
#include "space/trap.h"
#include "thread/exchange.h"
#include "thread/heap_list.h"
#include "thread/keeper.h"
#include "thread/thread.h"

#include <string.h>

/* A thread's record is live or idle. Its counters go on over all threads that it serves. No lock, because there may be
 * many records. */
static void add_threads(unsigned class, struct class_sums *sums)
{
    for (const struct thread *thread = load_acquire(&registry.made); thread != NULL; thread = thread->made_before) {
        heap_add(&thread->heap, class, sums);
    }
}

/* Not under the registry's lock, because there may be many heaps, and threads begin and end meanwhile. */
static void add_heaps_of_epochs(unsigned class, struct class_sums *sums)
{
    struct thread *self = current_thread_get_surely();
    if (self != NULL) { /* NULL: the engine has not started */
        gate_lock(&self->gate);
        heap_list_add(class, sums);
        gate_unlock(&self->gate);
        current_thread_put(self);
    }
}

void stats_class(unsigned class, struct class_sums *sums)
{
    const struct partial_counters *lists = &partial_counters[class];
    invariant(class != CLASS_NONE && class < CLASS_LIMIT);
    memset(sums, 0, sizeof *sums);
    add_threads(class, sums);
    add_heaps_of_epochs(class, sums);
    sums->cached += exchange_slots(class);
    sums->frees += counter_get(&lists->released);
    sums->recycled = counter_get(&lists->recycled);
    const uint64_t queued = counter_get(&lists->queued);
    sums->harvests = counter_get(&lists->harvests);
    sums->harvested = counter_get(&lists->harvested);
    sums->queue_longest = counter_get(&lists->queue_longest);
    sums->queue_length = not_below_zero(queued, sums->harvested);
}

static void add_class(struct tslab_stats *stats, const struct class_sums *sums, unsigned class)
{
    const struct class_geometry *geometry = &class_geometry[class];
    stats->live_objects += not_below_zero(sums->allocs, sums->frees);
    stats->live_bytes += not_below_zero(sums->allocs, sums->frees) * geometry->size;
    stats->cached_bytes += sums->cached * geometry->size;
    stats->slab_bytes += not_below_zero(sums->opened, sums->recycled) * geometry->units * UNIT_BYTES;
    stats->allocations += sums->allocs;
    stats->frees += sums->frees;
    stats->refills += sums->refills;
    stats->flushes += sums->flushes;
    stats->remote_frees += sums->remote_frees;
    stats->slabs_opened += sums->opened;
    stats->slabs_recycled += sums->recycled;
    stats->harvests += sums->harvests;
    stats->harvested += sums->harvested;
    stats->queue_longest = max_size(stats->queue_longest, sums->queue_longest);
    stats->queue_length += sums->queue_length;
}

/* The bytes of chunks of epochs, what was allocated there, and how many epochs there are. */
static void add_epochs(struct tslab_stats *stats)
{
    /* A record that goes to the pool meanwhile may be missed. `told` makes sure that the sum never falls. */
    static atomic_u64 told;
    uint64_t chunks = 0;
    uint64_t granules = load_acquire(&epoch_counters.passed);
    stats->epochs_drained += counter_get(&epoch_counters.drained);
    uint32_t at = 0;
    for (const struct epoch *epoch; (epoch = epoch_next(&at)) != NULL;) {
        const enum epoch_state state = epoch_word_state(load_seq_cst(&epoch->word));
        const bool users = load_plain(&epoch->owner) == NULL; /* false: it serves the handles of another one */
        stats->epochs_open += users && state == EPOCH_OPEN;
        stats->epochs_draining += users && state == EPOCH_DRAINING;
        chunks += counter_get(&epoch->chunks);
        granules += epoch_passed(epoch);
    }
    stats->chunk_bytes = chunks * CHUNK_BYTES;
    stats->epoch_bytes = counter_raise(&told, granules) << GRANULE_SHIFT;
}

static void add_counters(struct tslab_stats *stats, const struct thread_counters *counters)
{
    stats->epochs_opened += counter_get(&counters->epochs_opened);
    stats->epochs_closed += counter_get(&counters->epochs_closed);
    stats->epochs_drained += counter_get(&counters->epochs_drained);
    stats->work_units += counter_get(&counters->work_units);
}

void stats_get(struct tslab_stats *stats)
{
    memset(stats, 0, sizeof *stats);
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        struct class_sums sums;
        stats_class(c, &sums);
        add_class(stats, &sums, c);
    }
    size_t hot = 0;
    for (const struct thread *thread = load_acquire(&registry.made); thread != NULL; thread = thread->made_before) {
        hot += (size_t)hot_runs_units(&thread->heap.hot) << UNIT_SHIFT;
        add_counters(stats, &thread->counters);
    }
    stats->cached_bytes += hot;
    stats->threads = counter_get(&heap_live_count);
    stats->thread_records = counter_get(&registry.record_count);

    const size_t used = counter_get(&depot.units[RUN_USED]) << UNIT_SHIFT;
    const size_t trapped = counter_get(&trap_units) << UNIT_SHIFT;
    add_epochs(stats);
    stats->large_bytes = not_below_zero(used, stats->slab_bytes + stats->chunk_bytes + hot + trapped);
    stats->dirty_bytes = (counter_get(&depot.units[RUN_DIRTY]) + counter_get(&depot.units[RUN_STUCK])) << UNIT_SHIFT;
    stats->clean_bytes = counter_get(&depot.units[RUN_CLEAN]) << UNIT_SHIFT;
    stats->committed_bytes = used + stats->dirty_bytes + stats->clean_bytes;
    stats->reserved_bytes = arena.span_units << UNIT_SHIFT;
    stats->metadata_bytes = counter_get(&meta_bytes);
    stats->purge_mistakes = counter_get(&purged_lately.mistaken_units) << UNIT_SHIFT;
    stats->offered_bytes = counter_get(&reclaim_counters.offered);
    stats->limit_refusals = counter_get(&limits.refusals);
    stats->keeper_looks = counter_get(&keeper.looks);
    stats->purge_calls = counter_get(&reclaim_counters.calls);
    stats->purged_bytes = counter_get(&reclaim_counters.bytes);
    stats->purge_refusals = counter_get(&reclaim_counters.refused);
}

static void add_slabs(struct tslab_class_stats *stats, unsigned class)
{
    const struct class_geometry *const geometry = &class_geometry[class];
    struct census_class slabs;
    struct class_held held;
    accounts_held(class, &held);
    census_class(class, true, &slabs);
    stats->magazine_slots = held.magazine;
    stats->stock_slots = held.stock;
    stats->outbox_slots = held.outbox;
    stats->exchange_slots = exchange_slots(class);
    stats->claimed_slots = held.claimed;
    stats->retired_slots = held.retired;
    stats->slabs = slabs.slabs;
    stats->slabs_full = slabs.full;
    stats->slabs_partial = slabs.partial;
    stats->slabs_empty = slabs.empty;
    stats->slabs_held = slabs.held;
    stats->used_slots = slabs.used_slots;
    stats->free_slots = slabs.free_slots;
    stats->live_objects = not_below_zero(slabs.used_slots, stats_cached_slots(stats));
    stats->slab_bytes = slabs.slabs * geometry->units << UNIT_SHIFT;
    invariant((stats->used_slots + stats->free_slots) * geometry->size <= stats->slab_bytes);
    stats->tail_bytes = slabs.slabs * census_tail_bytes(class);
    stats->untouched_bytes = slabs.untouched_bytes;
    stats->pages = slabs.pages;
    stats->pages_free = slabs.free_pages;
    stats->pages_kept_1 = slabs.kept_1;
    stats->pages_kept_2 = slabs.kept_2;
    stats->pages_kept_4 = slabs.kept_4;
}

void stats_class_get(unsigned class, struct tslab_class_stats *stats)
{
    struct class_sums sums;
    stats_class(class, &sums);
    *stats = (struct tslab_class_stats){
        .size = class_geometry[class].size,
        .allocations = sums.allocs,
        .frees = sums.frees,
        .slabs_opened = sums.opened,
        .slabs_recycled = sums.recycled,
        .slabs_attached = sums.attached,
        .refills = sums.refills,
        .refilled = sums.refilled,
        .flushes = sums.flushes,
        .flushed = sums.flushed,
        .stocked = sums.stocked,
        .exchanged = sums.exchanged,
        .remote_frees = sums.remote_frees,
        .harvests = sums.harvests,
        .harvested = sums.harvested,
        .queue_longest = sums.queue_longest,
        .queue_length = sums.queue_length,
        .from_stock = sums.from_stock,
        .from_exchange = sums.from_exchange,
        .misses = class_sums_misses(&sums),
    };
    if (sums.opened != 0) {
        add_slabs(stats, class);
    }
}

void stats_thread(const struct thread *thread, struct tslab_thread_stats *stats)
{
    *stats = (struct tslab_thread_stats){ .thread = load_plain(&thread->number) };
    invariant(thread->heap.epoch == &epoch_process);
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        struct class_sums sums = { 0 };
        heap_add(&thread->heap, c, &sums);
        invariant(sums.opened + sums.attached >= sums.opened && sums.recycled == 0);
        stats->allocations += sums.allocs;
        stats->frees += sums.frees;
        stats->misses += class_sums_misses(&sums);
        stats->cached_bytes += sums.cached * class_geometry[c].size;
    }
    stats->cached_bytes += (size_t)hot_runs_units(&thread->heap.hot) << UNIT_SHIFT;
    stats->allocations = not_below_zero(stats->allocations, counter_get(&thread->before.allocations));
    stats->frees = not_below_zero(stats->frees, counter_get(&thread->before.frees));
    stats->misses = not_below_zero(stats->misses, counter_get(&thread->before.misses));
}
