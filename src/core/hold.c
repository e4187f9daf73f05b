#include "core/hold.h"

#include "core/heaps.h"

bool hold_claim_to_close(struct hold *hold)
{
    struct thread *found = HOLD_IDLE;
    return cas_seq_cst(&hold->holder, &found, HOLD_TAKEN);
}

/* Whether the word, of this generation and OPEN, can count one hold more. */
static bool epoch_has_room(uint64_t word, uint64_t value)
{
    return epoch_same_generation(word, value) && epoch_word_state(word) == EPOCH_OPEN &&
           epoch_word_held(word) < EPOCH_HELD_MOST;
}

/* One more place in an epoch: all others are held. NULL: no memory, or it is closed. What is linked and not counted
 * stays TAKEN, and nobody's, until the record is FREE: it is not unlinked before, for who closes may be walking by. */
static struct hold *hold_make(struct thread *thread, struct epoch *epoch, uint64_t value)
{
    gate_lock(&thread->gate);
    lock_acquire(&epoch->lock);
    uint64_t word = load_seq_cst(&epoch->word);
    struct hold *hold = epoch_has_room(word, value) ? epoch_link_hold(epoch) : NULL;
    while (hold != NULL && !cas_seq_cst(&epoch->word, &word, word + EPOCH_HELD_ONE)) {
        hold = epoch_has_room(word, value) ? hold : NULL;
    }
    if (hold != NULL) {
        store_seq_cst(&hold->holder, thread);
    }
    lock_release(&epoch->lock);
    gate_unlock(&thread->gate);
    return hold;
}

/* Claims an idle hold between two of the epoch; NULL: there is none. */
static struct hold *hold_claim_between(struct thread *thread, struct hold *from, const struct hold *end)
{
    for (struct hold *hold = from; hold != end && hold != NULL; hold = hold_next(hold)) {
        if (hold_claim(hold, thread)) {
            return hold;
        }
    }
    return NULL;
}

/* A hold that is TAKEN may be linked no more. */
noinline struct hold *hold_find(struct thread *thread, struct epoch *epoch, uint64_t value)
{
    struct hold **const remembered = &thread->remembered[epoch->id % REMEMBERED_HOLDS];
    struct hold *const old = *remembered;
    const bool known = old->epoch == epoch && load_relaxed(&old->holder) != HOLD_TAKEN;
    struct hold *const behind = known ? hold_next(old) : NULL;
    struct hold *hold = hold_claim_between(thread, behind, NULL);
    if (hold == NULL) {
        hold = hold_claim_between(thread, epoch_first_hold(epoch), behind);
    }
    if (hold == NULL) {
        hold = hold_make(thread, epoch, value);
    }
    if (hold != NULL) {
        *remembered = hold;
    }
    return hold;
}

void hold_seal_chunk(struct epoch *epoch, struct cursor *cursor)
{
    const uint32_t first = (uint32_t)arena_unit(cursor_start(cursor));
    epoch_link_run(epoch, first);
    if (chunk_seal(cursor)) {
        epoch_recycle_chunk(epoch, first);
    }
}

void hold_empty(struct epoch *epoch, struct hold *hold)
{
    if (hold->heap != NULL) {
        heap_unretire(hold->heap);
        heap_empty(hold->heap);
        heaps_delist(hold->heap);
    }
    if (cursor_start(&hold->cursor) == NULL || epoch_is_doomed(epoch)) {
        return;
    }
    if (chunk_is_empty(&hold->cursor)) {
        chunk_reset(&hold->cursor);
    } else {
        hold_seal_chunk(epoch, &hold->cursor);
    }
}

uint64_t hold_empty_idle(struct epoch *epoch)
{
    uint64_t n = 0;
    for (struct hold *hold = epoch_first_hold(epoch); hold != NULL; hold = hold_next(hold)) {
        if (hold_claim_to_close(hold)) {
            hold_empty(epoch, hold);
            n++;
        }
    }
    return n;
}

bool hold_make_idle(struct hold *hold)
{
    const struct epoch *const epoch = hold->epoch;
    (void)exchange_seq_cst(&hold->holder, HOLD_IDLE);
    return epoch_word_state(load_seq_cst(&epoch->word)) == EPOCH_CLOSED;
}
