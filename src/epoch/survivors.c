/* Objects are counted from the bitmaps of slabs, the codes of chunks and the tags of large runs, less what heaps cache.
 * They are ended run by run, and each run is recycled or trapped. */
#include "epoch/survivors.h"

#include "audit/census.h"
#include "common/guard.h"
#include "os/fatal.h"
#include "os/os.h"
#include "os/text.h"
#include "slab/large.h"
#include "slab/samples.h"
#include "space/depot.h"
#include "space/limit.h"
#include "space/live_bits.h"
#include "space/pages.h"
#include "space/reclaim.h"
#include "space/trap.h"
#include "thread/heap.h"

#include <unistd.h>

static uint64_t slab_live(const struct run *slab, unsigned class)
{
    return class_geometry[class].slots - slab_count(slab, &class_geometry[class]);
}

static void count_chunk(uint32_t first, struct survivors *sum)
{
    size_t bytes;
    sum->objects += chunk_count(first, &bytes);
    sum->bytes += bytes;
}

/* Returns the units of the run. */
static uint32_t count_run(uint32_t first, struct survivors *sum)
{
    const struct run *run = &arena.runs[first];
    const uint32_t tag = unit_tag(first);
    if (tag == TAG_CHUNK) {
        count_chunk(first, sum);
        sum->chunk_bytes += CHUNK_BYTES;
        return CHUNK_UNITS;
    }
    if (tag == TAG_LARGE) {
        sum->objects++;
        const size_t bytes = owned_load(&run->large_bytes); /* its owner may resize it meanwhile */
        const uint32_t units = large_units(bytes);
        sum->bytes += bytes;
        sum->large_bytes += (size_t)units << UNIT_SHIFT;
        return units;
    }
    if (tag_class(tag) == CLASS_NONE) {
        return 0;
    }
    const unsigned class = tag_class(tag);
    const uint64_t live = slab_live(run, class);
    sum->objects += live;
    sum->bytes += live * class_geometry[class].size;
    sum->slab_bytes += (size_t)class_geometry[class].units << UNIT_SHIFT;
    return class_geometry[class].units;
}

/* Takes off the slots that a heap caches: they are in no bitmap, and not alive. */
static void discount_cached(const struct heap *heap, struct survivors *sum)
{
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        const uint64_t cached = min_size(heap_cached(heap, c), sum->objects);
        sum->objects -= cached;
        sum->bytes -= min_size(cached * class_geometry[c].size, sum->bytes);
        sum->cached_bytes += cached * class_geometry[c].size;
    }
}

/* The bytes of a cursor's chunk on pages that are there. Those that it has filled are, whatever their bits say yet. */
static size_t open_chunk_there_bytes(const char *start, uint64_t at)
{
    const size_t filled = round_up((at << GRANULE_SHIFT) - (uintptr_t)start, (size_t)1 << pages_shift());
    return CHUNK_BYTES - pages_gone_bytes(start + min_size(filled, CHUNK_BYTES), start + CHUNK_BYTES);
}

/* Counts what a hold has and the linked runs do not tell. Exact while no thread allocates from the hold. Under the
 * epoch's lock: no chunk that a hold has or had is recycled before the lock is released. */
static void count_hold(const struct hold *hold, struct survivors *sum)
{
    const char *const start = cursor_start(&hold->cursor);
    if (start != NULL) {
        const uint64_t at = load_plain(&hold->cursor.at);
        sum->chunk_bytes += CHUNK_BYTES;
        sum->resident_bytes += open_chunk_there_bytes(start, at);
        if (at != load_plain(&hold->cursor.freed)) {
            count_chunk((uint32_t)arena_unit(start), sum);
        }
    }
    const struct heap *heap = load_acquire(&hold->heap);
    if (heap != NULL) {
        discount_cached(heap, sum);
    }
}

/* Lets other threads have the lock for a moment. True: no run was unlinked meanwhile, so a walk may go on. */
static bool lock_yield(struct epoch *epoch)
{
    const uint64_t recycled = counter_get(&epoch->recycled_runs);
    const uint64_t generation = epoch_generation(load_plain(&epoch->word));
    lock_release(epoch_lock(epoch));
    lock_acquire(epoch_lock(epoch));
    return counter_get(&epoch->recycled_runs) == recycled && epoch_generation(load_plain(&epoch->word)) == generation;
}

/* Counts the runs a few at a time, and the pages of a long one in steps: threads that allocate in the epoch need the
 * lock, too. Where runs are unlinked again and again, the walk keeps the lock in the end. Under the lock. */
static void count_runs(struct epoch *epoch, struct survivors *sum)
{
    enum { RESTARTS = 3, LOOK_UNITS = 512 };
    unsigned looked_at = 0, restarts = 0;
    invariant(lock_is_held(epoch_lock(epoch)) && sum->objects == 0);
    for (uint32_t run = epoch->runs; run != 0 && !census_is_over();) {
        const uint32_t units = count_run(run, sum);
        bool same = true;
        for (uint32_t at = 0; same && at < max_size(units, 1); at += LOOK_UNITS) {
            sum->resident_bytes += pages_there_bytes(run + at, min_size(units - at, LOOK_UNITS));
            same = ++looked_at % COUNTED_RUNS != 0 || restarts == RESTARTS || lock_yield(epoch);
        }
        run = same ? arena.runs[run].of_epoch.next : epoch->runs;
        if (!same) {
            *sum = (struct survivors){ .objects = 0 };
            restarts++;
        }
    }
}

void survivors_count(struct epoch *epoch, struct survivors *sum)
{
    *sum = (struct survivors){ .objects = 0 };
    lock_acquire(epoch_lock(epoch));
    count_runs(epoch, sum);
    unsigned looked_at = 0;
    for (const struct hold *hold = epoch_first_hold(epoch); hold != NULL; hold = hold_next(hold)) {
        count_hold(hold, sum);
        if (++looked_at % COUNTED_RUNS == 0) {
            (void)lock_yield(epoch); /* holds are never unmapped. If the epoch ends meanwhile, the sum is not used */
        }
    }
    lock_release(epoch_lock(epoch));
}

/* Ends all objects in a run that the epoch no longer reaches, and recycles or traps the run. */
static void end_run(struct epoch *epoch, uint32_t first, uint32_t units, bool trap)
{
    invariant(first != 0 && units == arena.runs[first].units);
    const uint32_t tag = unit_tag(first);
    if (tag == TAG_CHUNK) {
        epoch_drop_chunk(epoch);
        chunk_end_objects(first);
    } else {
        live_bits_forget(arena_address(first), (size_t)units << UNIT_SHIFT);
    }
    samples_end_run(first);
    arena_untag(first, units);
    store_relaxed(&arena.runs[first].word, SLAB_EMPTY);
    if (trap) {
        limit_forget_gone(&arena.runs[first]);
        trap_run(first, units);
    } else {
        depot_put(first, units, false);
    }
}

/* Ends all objects in the chunks of holds. Under the epoch's lock, because a report may be looking at them. A chunk
 * that is to be trapped leaves its hold first, and is trapped without the lock. */
static void end_holds(struct epoch *epoch, bool trap)
{
    for (struct hold *hold = epoch_first_hold(epoch); hold != NULL; hold = hold_next(hold)) {
        char *const start = cursor_start(&hold->cursor);
        invariant(load_plain(&hold->holder) == HOLD_TAKEN && lock_is_held(epoch_lock(epoch)));
        if (start != NULL && trap) {
            chunk_abandon(&hold->cursor);
            lock_release(epoch_lock(epoch));
            end_run(epoch, (uint32_t)arena_unit(start), CHUNK_UNITS, trap);
            lock_acquire(epoch_lock(epoch));
        } else if (start != NULL) {
            chunk_reset(&hold->cursor);
        }
    }
}

void survivors_end(struct epoch *epoch)
{
    const bool trap = GUARDED || load_plain(&epoch->policy) == TSLAB_POLICY_TRAP;
    invariant(epoch_word_state(load_plain(&epoch->word)) == EPOCH_FINISHING && epoch_is_doomed(epoch));
    bool any = false;
    lock_acquire(epoch_lock(epoch));
    end_holds(epoch, trap);
    for (uint32_t first; (first = epoch->runs) != 0; any = true) {
        lock_release(epoch_lock(epoch));
        struct run *run = &arena.runs[first];
        const uint32_t units = run->units;
        if (word_class(load_plain(&run->word)) != CLASS_NONE) {
            partial_discard(run);
        }
        epoch_unlink_run(epoch, first);
        end_run(epoch, first, units, trap);
        epoch_unpin(epoch);
        lock_acquire(epoch_lock(epoch));
    }
    invariant(epoch->runs == 0);
    lock_release(epoch_lock(epoch));
    if (any && load_plain(&epoch->reclaims) == 0) {
        reclaim_tick();
    }
}

void survivors_say(const struct survivors_line *line)
{
    char buffer[160];
    struct text text = { .buffer = buffer, .capacity = sizeof buffer };
    invariant(line->objects != 0);
    text_string(&text, "tslab: ");
    epoch_text(&text, line->label, line->epoch);
    text_string(&text, " closed with ");
    text_number(&text, line->objects);
    text_string(&text, line->objects == 1 ? " survivor, " : " survivors, ");
    text_number(&text, line->bytes);
    text_string(&text, " bytes\n");
    (void)os_write(STDERR_FILENO, buffer, text.length);
}
