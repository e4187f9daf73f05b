/* Every change of holder is a compare-and-swap or an exchange of the hold's `holder`. A hold that is missing is linked
 * TAKEN and then counted in the epoch's word. */
#include "epoch/hold.h"

#include "common/metadata.h"
#include "os/fatal.h"
#include "thread/upkeep.h"

#include <errno.h>

bool hold_claim_to_close(struct hold *hold)
{
    struct thread *found = HOLD_IDLE;
    return cas_seq_cst(&hold->holder, &found, HOLD_TAKEN);
}

/* Whether the word is OPEN, of this generation, and can count one more hold. */
static bool epoch_has_room(uint64_t word, uint64_t value)
{
    return epoch_same_generation(word, value) && epoch_word_state(word) == EPOCH_OPEN &&
           epoch_word_held(word) < EPOCH_HELD_MOST;
}

/* Makes one more hold in an epoch whose holds are all in use. NULL: no memory, or the epoch is closed. A hold that was
 * linked but not counted stays TAKEN and without a holder until the holds of the record are unlinked. It is not
 * unlinked here, because the closing thread may be walking over it. If the record has retired by then, its next life
 * has the hold, too. */
static struct hold *hold_make(struct thread *thread, struct epoch *epoch, uint64_t value)
{
    struct hold *hold;
    bool has_room;
    gate_lock(&thread->gate);
    do {
        lock_acquire(epoch_lock(epoch));
        uint64_t word = load_seq_cst(&epoch->word);
        has_room = epoch_has_room(word, value);
        hold = has_room ? epoch_link_hold(epoch) : NULL;
        while (hold != NULL && !cas_seq_cst(&epoch->word, &word, word + EPOCH_HELD_ONE)) {
            has_room = epoch_has_room(word, value);
            hold = has_room ? hold : NULL;
        }
        if (hold != NULL) {
            store_seq_cst(&hold->holder, thread);
        }
        lock_release(epoch_lock(epoch));
    } while (hold == NULL && has_room && metadata_ahead(sizeof *hold));
    gate_unlock(&thread->gate);
    return hold;
}

/* Claims an idle hold of the epoch from `from` on and before `end`. NULL: there is none. */
static struct hold *hold_claim_between(struct thread *thread, struct hold *from, const struct hold *end)
{
    for (struct hold *hold = from; hold != end && hold != NULL; hold = hold_next(hold)) {
        if (hold_claim(hold, thread)) {
            return hold;
        }
    }
    return NULL;
}

/* The remembered hold may be of another epoch. If it is TAKEN, it may not be linked any more, and its record may have
 * been given back and begun anew. */
noinline struct hold *hold_find(struct thread *thread, struct epoch *epoch, uint64_t value)
{
    struct hold **const remembered = &thread->remembered[value % REMEMBERED_HOLDS]; /* its low bits are the index */
    struct hold *const old = *remembered;
    const bool known = owned_load(&old->epoch) == epoch && load_relaxed(&old->holder) != HOLD_TAKEN;
    struct hold *const behind = known ? hold_next(old) : NULL;
    struct hold *hold = hold_claim_between(thread, behind, NULL);
    if (hold == NULL) {
        hold = hold_claim_between(thread, epoch_first_hold(epoch), behind);
    }
    if (hold == NULL) {
        hold = hold_make(thread, epoch, value);
    }
    invariant(hold == NULL || (hold->epoch == epoch && load_plain(&hold->holder) == thread));
    if (hold != NULL) {
        *remembered = hold;
    }
    return hold;
}

/* The full chunks of a hold are a ring, and a new one is its last. */
static void full_link(struct hold *hold, uint32_t last)
{
    const uint32_t first = hold->full == 0 ? last : hold->full;
    const uint32_t before = hold->full == 0 ? last : arena.runs[first].prev;
    hold->full = first;
    arena.runs[last].prev = before;
    arena.runs[last].next = first;
    arena.runs[before].next = arena.runs[first].prev = last;
}

static void full_close(struct hold *hold, uint32_t first)
{
    const struct run *const chunk = &arena.runs[first];
    arena.runs[chunk->prev].next = chunk->next;
    arena.runs[chunk->next].prev = chunk->prev;
    if (hold->full == first) {
        hold->full = chunk->next == first ? 0 : chunk->next;
    }
    if (chunk_close(first)) {
        epoch_recycle_chunk(hold->epoch, first);
    }
}

bool hold_end_chunk(struct hold *hold)
{
    const uint32_t ended = (uint32_t)arena_unit(cursor_start(&hold->cursor));
    bool dies = false;
    invariant(cursor_start(&hold->cursor) != NULL && unit_tag(ended) == TAG_CHUNK);
    for (unsigned looks = 0; looks < 2 && hold->full != 0; looks++) {
        const uint32_t first = hold->full;
        hold->full = arena.runs[first].next;
        dies |= chunk_is_sparse(first);
        if (chunk_is_shared(first)) {
            full_close(hold, first);
        }
    }
    epoch_link_run(hold->epoch, ended);
    chunk_end(&hold->cursor, hold);
    full_link(hold, ended);
    return dies || chunk_is_sparse(ended);
}

void hold_close_full(struct hold *hold)
{
    while (hold->full != 0) {
        full_close(hold, hold->full);
    }
}

noinline void hold_recycle_full(const void *p)
{
    struct thread *const thread = front_current->thread;
    const uint32_t first = arena.units[arena_unit(p)].first;
    struct hold *const hold = load_plain(&arena.runs[first].chunk.filler);
    const int saved = errno;
    invariant(load_plain(&hold->holder) == thread && load_plain(&arena.runs[first].chunk.unfreed) == 0);
    gate_lock(&thread->gate);
    full_close(hold, first);
    upkeep_and_unlock(&thread->heap);
    errno = saved;
}

/* A report counts what the heap caches under the epoch's lock. The next scope fills a chunk again, unless objects live
 * in the epoch: then it needs slabs at once. */
void hold_end_slabs(struct thread *thread, struct hold *hold)
{
    struct heap *const heap = load_plain(&hold->heap);
    invariant(thread->gate.is_inside && heap != NULL && load_plain(&hold->holder) != HOLD_IDLE);
    heap_empty(heap);
    lock_acquire(epoch_lock(hold->epoch));
    store_plain(&hold->heap, NULL);
    lock_release(epoch_lock(hold->epoch));
    heap->next_idle = thread->idle_heaps;
    thread->idle_heaps = heap;
    if (load_plain(&hold->epoch->pins) == 1) {
        hold->filled_kib = 0;
        hold->outlives = false;
    }
}

uint32_t hold_put_away(struct thread *thread, struct hold *hold, bool *helps)
{
    struct epoch *const epoch = owned_load(&hold->epoch);
    uint32_t first = 0;
    *helps = false;
    if (epoch == NULL) { /* the pages of the record were given back */
        return 0;
    }
    lock_acquire(epoch_holds_lock(epoch));
    if (hold_claim_to_close(hold)) {
        if (load_plain(&hold->heap) != NULL) {
            hold_end_slabs(thread, hold);
        }
        if (cursor_start(&hold->cursor) != NULL && chunk_is_empty(&hold->cursor)) {
            lock_acquire(epoch_lock(epoch));
            first = chunk_take(&hold->cursor);
            lock_release(epoch_lock(epoch));
            epoch_drop_chunk(epoch);
        }
        *helps = hold_make_idle(hold);
    }
    lock_release(epoch_holds_lock(epoch));
    return first;
}

void hold_empty(struct thread *thread, struct epoch *epoch, struct hold *hold)
{
    invariant(load_plain(&hold->holder) == HOLD_TAKEN && hold->epoch == epoch);
    invariant(hold->nested == 0);
    if (load_plain(&hold->heap) != NULL) {
        hold_end_slabs(thread, hold);
    }
    if (cursor_start(&hold->cursor) == NULL || epoch_is_doomed(epoch)) {
        return;
    }
    if (chunk_is_empty(&hold->cursor)) {
        chunk_reset(&hold->cursor);
    } else {
        (void)hold_end_chunk(hold);
        hold_close_full(hold);
    }
}

uint64_t hold_empty_idle(struct thread *thread, struct epoch *epoch)
{
    uint64_t n = 0;
    for (struct hold *hold = epoch_first_hold(epoch); hold != NULL; hold = hold_next(hold)) {
        if (hold_claim_to_close(hold)) {
            hold_empty(thread, epoch, hold);
            n++;
        }
    }
    return n;
}

bool hold_make_idle(struct hold *hold)
{
    const struct epoch *const epoch = hold->epoch;
    invariant(load_plain(&hold->holder) != HOLD_IDLE && hold->real == hold);
    invariant(hold->nested == 0 && hold->full == 0);
    (void)swap_seq_cst(&hold->holder, HOLD_IDLE);
    return epoch_word_state(load_seq_cst(&epoch->word)) == EPOCH_CLOSED;
}

noinline void ambient_set(struct thread *thread)
{
    ambient_set_here(thread);
}
