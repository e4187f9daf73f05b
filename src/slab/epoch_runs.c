/* The runs of an epoch are a doubly linked list in their descriptors, under the epoch's lock. */
#include "slab/epoch_runs.h"

#include "common/trace.h"
#include "os/fatal.h"
#include "space/depot.h"

void epoch_link_run(struct epoch *epoch, uint32_t first)
{
    struct run *run = &arena.runs[first];
    invariant(first != 0 && word_epoch(load_plain(&run->word)) == epoch->id);
    invariant(load_plain(&epoch->pins) != 0);
    lock_acquire(epoch_lock(epoch));
    run->of_epoch.prev = 0;
    run->of_epoch.next = epoch->runs;
    if (epoch->runs != 0) {
        arena.runs[epoch->runs].of_epoch.prev = first;
    }
    epoch->runs = first;
    epoch_count_units(epoch, 0, run->units);
    (void)fetch_add_relaxed(&epoch->pins, 1);
    lock_release(epoch_lock(epoch));
}

void epoch_unlink_run(struct epoch *epoch, uint32_t first)
{
    struct run *run = &arena.runs[first];
    lock_acquire(epoch_lock(epoch));
    invariant((run->of_epoch.prev == 0 ? epoch->runs : arena.runs[run->of_epoch.prev].of_epoch.next) == first);
    invariant(run->of_epoch.next == 0 || arena.runs[run->of_epoch.next].of_epoch.prev == first);
    *(run->of_epoch.prev == 0 ? &epoch->runs : &arena.runs[run->of_epoch.prev].of_epoch.next) = run->of_epoch.next;
    if (run->of_epoch.next != 0) {
        arena.runs[run->of_epoch.next].of_epoch.prev = run->of_epoch.prev;
    }
    counter_add(&epoch->recycled_runs, 1);
    epoch_count_units(epoch, run->units, 0);
    lock_release(epoch_lock(epoch));
    store_relaxed(&run->word, SLAB_EMPTY);
}

/* The recursion is two deep at most: an epoch that serves the handles of another one unpins that one, which serves
 * none. */
/* NOLINTBEGIN(misc-no-recursion) */

/* Retires a record that nothing refers to any more. Its chunks are empty and go to the depot. A record that its closing
 * thread keeps warm retires elsewhere (ending.c). */
static void epoch_retire(struct epoch *epoch)
{
    invariant(epoch_word_state(load_plain(&epoch->word)) == EPOCH_DRAINING);
    invariant(epoch->runs == 0 && load_plain(&epoch->pins) == 0);
    for (struct hold *hold = epoch_first_hold(epoch); hold != NULL; hold = hold_next(hold)) {
        hold_drop_chunk(hold);
    }
    epoch_unlink_holds(epoch);
    struct epoch *owner = load_plain(&epoch->owner);
    const uint64_t word = load_plain(&epoch->word);
    trace_epoch_end(epoch_generation(word) | epoch->id);
    store_seq_cst(&epoch->word, epoch_generation(word) | EPOCH_FREE);
    epoch_put_record(epoch);
    if (owner != NULL) {
        epoch_unpin(owner);
    }
}

void epoch_unpin(struct epoch *epoch)
{
    invariant(load_plain(&epoch->pins) != 0);
    if (fetch_sub_seq_cst(&epoch->pins, 1) == 1) {
        epoch_retire(epoch);
    }
}

/* NOLINTEND(misc-no-recursion) */

void epoch_recycle_run(struct epoch *epoch, uint32_t first)
{
    epoch_unlink_run(epoch, first);
    depot_put(first, arena.runs[first].units, false);
    epoch_unpin(epoch);
}

void epoch_recycle_chunk(struct epoch *epoch, uint32_t first)
{
    invariant(load_plain(&arena.units[first].tag) == TAG_CHUNK && load_plain(&arena.runs[first].live) == 0);
    arena_untag(first, CHUNK_UNITS);
    epoch_drop_chunk(epoch);
    epoch_recycle_run(epoch, first);
}
