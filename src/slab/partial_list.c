/* The changes of a slab's state, under its list's lock. Work that needs no lock, such as recycling, is collected in
 * struct afterwards, and done when the lock is released. */
#include "slab/partial_list.h"

#include "common/metadata.h"
#include "common/trace.h"
#include "os/fatal.h"
#include "space/depot.h"
#include "space/pages.h"

struct partial_counters partial_counters[CLASS_LIMIT];

static struct partial_list process_lists[CLASS_LIMIT];

static void lists_start(struct partial_list *partials)
{
    for (unsigned c = 0; c < CLASS_LIMIT; c++) {
        partials[c].lock.rank = RANK_LIST;
        partials[c].class = c;
    }
}

void partial_lists_begin(void)
{
    lists_start(process_lists);
    store_plain(&epoch_process.partials, process_lists);
}

/* Makes the lists of an epoch that has none. False: what is mapped has no room for them. */
static bool lists_make(struct epoch *epoch, size_t bytes)
{
    lock_acquire(epoch_lock(epoch));
    bool there = epoch_partials(epoch) != NULL;
    if (!there) {
        struct partial_list *partials = metadata_take(bytes);
        there = partials != NULL;
        if (there) {
            lists_start(partials);
            store_release(&epoch->partials, partials);
        }
    }
    lock_release(epoch_lock(epoch));
    return there;
}

bool partial_lists_need(struct epoch *epoch)
{
    const size_t bytes = CLASS_LIMIT * sizeof(struct partial_list);
    bool there;
    do {
        there = lists_make(epoch, bytes);
    } while (!there && metadata_ahead(bytes));
    invariant(!there || epoch_partials(epoch) != NULL);
    return there;
}

/* The list that a slab's word names. */
static struct partial_list *partial_of(uint32_t word)
{
    invariant(word_class(word) != CLASS_NONE && word_class(word) < CLASS_LIMIT);
    return &epoch_partials(epoch_existing(word_epoch(word)))[word_class(word)];
}

static bool is_evaluable(uint32_t word)
{
    return word_state(word) == SLAB_FULL || word_state(word) == SLAB_PARTIAL;
}

/* Asserts that the lock is held, and that the list has slabs exactly if its length is not 0. */
static inline void partial_check(const struct partial_list *partial)
{
    invariant(lock_is_held(&partial->lock));
    invariant((load_plain(&partial->head) == 0) == (counter_get(&partial->length) == 0));
    invariant((partial->tail == 0) == (counter_get(&partial->length) == 0));
}

/* Links at the end: a slab that has just got its first slot is attached last, when it has more of them. */
static void partial_link(struct partial_list *partial, struct run *slab)
{
    const uint32_t index = run_index(slab);
    partial_check(partial);
    invariant(word_state(load_plain(&slab->word)) == SLAB_PARTIAL);
    invariant(slab->kind == RUN_USED && partial_of(load_plain(&slab->word)) == partial);
    slab->prev = partial->tail;
    slab->next = 0;
    if (slab->prev == 0) {
        store_plain(&partial->head, index);
    } else {
        arena.runs[slab->prev].next = index;
    }
    partial->tail = index;
    counter_add(&partial->length, 1);
}

static void partial_unlink(struct partial_list *partial, struct run *slab)
{
    partial_check(partial);
    invariant(counter_get(&partial->length) != 0);
    invariant((slab->prev == 0 ? load_plain(&partial->head) : arena.runs[slab->prev].next) == run_index(slab));
    invariant((slab->next == 0 ? partial->tail : arena.runs[slab->next].prev) == run_index(slab));
    if (slab->prev == 0) {
        store_plain(&partial->head, slab->next);
    } else {
        arena.runs[slab->prev].next = slab->next;
    }
    *(slab->next == 0 ? &partial->tail : &arena.runs[slab->next].prev) = slab->prev;
    counter_set(&partial->length, counter_get(&partial->length) - 1);
}

/* The work that the holder of a list's lock has to do when it has released the lock. */
struct afterwards {
    struct run *claimed;  /* EMPTY slabs that go to the depot, linked by next */
    struct run *followed; /* slabs from the queue that belong to another list by now, linked by queue_next */
};

/* The protocol's table. Under the lock that `word`, the slab's word, names. */
static void partial_evaluate_locked(struct partial_list *partial, struct run *slab, uint32_t word,
                                    struct afterwards *after)
{
    const struct class_geometry *geometry = &class_geometry[word_class(word)];
    enum slab_state state = word_state(word);
    invariant(lock_is_held(&partial->lock) && is_evaluable(word) && load_plain(&slab->word) == word);
    if (state == SLAB_FULL && slab_has_any(slab, geometry)) {
        store_seq_cst(&slab->word, word_with_state(word, SLAB_PARTIAL));
        partial_link(partial, slab);
        state = SLAB_PARTIAL;
    }
    if (state == SLAB_PARTIAL && slab_has_all(slab, geometry)) {
        partial_unlink(partial, slab);
        /* No thread gives to it, for none has a slot of it. A thread that still comes to look finds EMPTY. */
        store_seq_cst(&slab->word, word_with_state(word, SLAB_EMPTY));
        counter_add_shared(&partial_counters[partial->class].recycled, 1);
        slab->next = after->claimed == NULL ? 0 : run_index(after->claimed);
        after->claimed = slab;
    }
}

/* Looks at each slab of a queue that was taken from the lock, which is still held. */
static void partial_harvest(struct partial_list *partial, uint32_t queue, struct afterwards *after)
{
    uint64_t length = 0;
    invariant(lock_is_held(&partial->lock) && queue != 0);
    while (queue != 0) {
        struct run *slab = &arena.runs[queue];
        /* The order is the protocol: the link, then the flag, then the word. A thread that sets the flag later pushes
         * the slab again. A thread that found it set earlier relies on the look that follows. */
        queue = load_relaxed(&revisit_of(slab)->queue_next);
        (void)swap_seq_cst(&revisit_of(slab)->queued, 0);
        const uint32_t word = load_seq_cst(&slab->word);
        if (is_evaluable(word)) {
            if (partial_of(word) == partial) {
                partial_evaluate_locked(partial, slab, word, after);
            } else if (swap_seq_cst(&revisit_of(slab)->queued, 1) == 0) {
                /* The slab was recycled and belongs to another list. A free in its new life may have relied on the
                 * flag, so the slab is not dropped: it waits on the list `followed`. Where another thread has set the
                 * flag again, that thread makes sure of the look. */
                store_relaxed(&revisit_of(slab)->queue_next, after->followed == NULL ? 0 : run_index(after->followed));
                after->followed = slab;
            }
        }
        length++;
    }
    struct partial_counters *counters = &partial_counters[partial->class];
    counter_add_shared(&counters->harvests, 1);
    counter_add_shared(&counters->harvested, length);
    (void)counter_raise(&counters->queue_longest, length);
}

/* Releases a list's lock, after harvesting the queue. */
static void partial_unlock(struct partial_list *partial, struct afterwards *after)
{
    uint32_t queue;
    while ((queue = lock_release_or_harvest(&partial->lock)) != 0) {
        partial_harvest(partial, queue, after);
    }
}

/* Takes the lock if it is free, else leaves the slab on its queue. */
static void partial_look(struct run *slab, struct afterwards *after)
{
    const uint32_t word = load_seq_cst(&slab->word);
    if (!is_evaluable(word)) {
        return;
    }
    struct partial_list *partial = partial_of(word);
    if (lock_try(&partial->lock)) {
        const uint32_t now = load_seq_cst(&slab->word);
        /* Where it belongs to another list by now, it was recycled, and other threads have looked. */
        if (is_evaluable(now) && partial_of(now) == partial) {
            partial_evaluate_locked(partial, slab, now, after);
        }
    } else {
        if (swap_seq_cst(&revisit_of(slab)->queued, 1) != 0) {
            return; /* another thread will look */
        }
        counter_add_shared(&partial_counters[partial->class].queued, 1);
        if (!lock_push(&partial->lock, run_index(slab), &revisit_of(slab)->queue_next)) {
            return; /* the holder of the lock will look */
        }
    }
    partial_unlock(partial, after);
}

/* Does the work that had to wait until the lock was released. */
static void partial_settle(struct afterwards *after)
{
    for (;;) {
        if (after->claimed != NULL) {
            struct run *slab = after->claimed;
            after->claimed = slab->next == 0 ? NULL : &arena.runs[slab->next];
            const uint32_t word = load_plain(&slab->word);
            invariant(word_state(word) == SLAB_EMPTY && slab->units == class_geometry[word_class(word)].units);
            invariant(load_plain(&slab->full) == class_geometry[word_class(word)].words);
            struct epoch *epoch = epoch_existing(word_epoch(word));
            invariant(tag_class(unit_tag(run_index(slab))) == word_class(word));
            arena_untag(run_index(slab), slab->units);
            invariant(epoch->id == word_epoch(word));
            trace_slab_recycle(arena_address(run_index(slab)), class_geometry[word_class(word)].size, epoch->id);
            if (epoch == &epoch_process) {
                (void)fetch_sub_relaxed(&depot_usage.slot_bytes, class_bytes(word_class(word)));
                depot_put(run_index(slab), class_geometry[word_class(word)].units, false);
            } else {
                if (epoch_word_state(load_plain(&epoch->word)) == EPOCH_DRAINING) {
                    counter_add_shared(&partial_counters[word_class(word)].drained, 1);
                }
                epoch_recycle_run(epoch, run_index(slab));
            }
        } else if (after->followed != NULL) {
            struct run *slab = after->followed;
            const uint32_t next = load_relaxed(&revisit_of(slab)->queue_next);
            after->followed = next == 0 ? NULL : &arena.runs[next];
            (void)swap_seq_cst(&revisit_of(slab)->queued, 0);
            partial_look(slab, after);
        } else {
            return;
        }
    }
}

void partial_evaluate(struct run *slab)
{
    struct afterwards after = { NULL, NULL };
    partial_look(slab, &after);
    partial_settle(&after);
}

/* Takes the first slab off the list, if there is one, and attaches it. Under the lock. */
static struct run *attach_first(struct partial_list *partial)
{
    const uint32_t head = load_plain(&partial->head);
    if (head == 0) {
        return NULL;
    }
    struct run *slab = &arena.runs[head];
    invariant(word_state(load_plain(&slab->word)) == SLAB_PARTIAL);
    invariant(word_class(load_plain(&slab->word)) == partial->class && slab->prev == 0);
    partial_unlink(partial, slab);
    store_seq_cst(&slab->word, word_with_state(load_plain(&slab->word), SLAB_ATTACHED));
    return slab;
}

struct run *partial_attach(struct partial_list *partial)
{
    /* A look without the lock. If it misses a slab, that costs no more than a new one. */
    if (load_relaxed(&partial->head) == 0) {
        return NULL;
    }
    struct afterwards after = { NULL, NULL };
    lock_acquire(&partial->lock);
    struct run *slab = attach_first(partial);
    partial_unlock(partial, &after);
    partial_settle(&after);
    return slab;
}

/* Whether the free pages of a slab are worth a purge. On the way, they are in a slab that will hardly be full again, or
 * empty, before they are wanted. A trim and the keeper take each page. */
static bool is_worth_it(const struct run *slab, const struct class_geometry *geometry, bool each_page)
{
    struct slot_set free;
    slot_set_read(&free, slab, geometry);
    invariant(word_state(load_plain(&slab->word)) == SLAB_PARTIAL);
    return (each_page || slot_set_count(&free) >= geometry->slots - geometry->slots / 4u) &&
           pages_free_bytes(slab, geometry, &free) != 0;
}

struct run *partial_attach_unpurged(struct partial_list *partial, bool each_page)
{
    struct run *slab = NULL;
    struct afterwards after = { NULL, NULL };
    lock_acquire(&partial->lock);
    const uint32_t head = load_plain(&partial->head);
    if (head != 0) {
        struct run *first = &arena.runs[head];
        if (is_worth_it(first, &class_geometry[partial->class], each_page)) {
            slab = attach_first(partial);
        } else {
            partial_unlink(partial, first);
            partial_link(partial, first);
        }
    }
    partial_unlock(partial, &after);
    partial_settle(&after);
    return slab;
}

void partial_detach(struct run *slab)
{
    /* No other thread changes the word of an attached slab. */
    invariant(word_state(load_plain(&slab->word)) == SLAB_ATTACHED);
    const uint32_t word = word_with_state(load_plain(&slab->word), SLAB_FULL);
    struct partial_list *partial = partial_of(word);
    struct afterwards after = { NULL, NULL };
    lock_acquire(&partial->lock);
    /* First FULL, then a look at the bits. A give writes its bits, then reads the word. One of the two sees the other.
     */
    (void)swap_seq_cst(&slab->word, word);
    partial_evaluate_locked(partial, slab, word, &after);
    partial_unlock(partial, &after);
    partial_settle(&after);
}

/* uncounted: only checked builds and tests call it */
void partial_begin_look(struct partial_list *partial)
{
    lock_acquire(&partial->lock);
}

/* uncounted: only checked builds and tests call it */
void partial_end_look(struct partial_list *partial)
{
    struct afterwards after = { NULL, NULL };
    partial_unlock(partial, &after);
    partial_settle(&after);
}

void partial_discard(struct run *slab)
{
    struct afterwards after = { NULL, NULL };
    struct partial_list *partial = partial_of(load_plain(&slab->word));
    lock_acquire(&partial->lock);
    const uint32_t word = load_plain(&slab->word);
    invariant(is_evaluable(word) && partial_of(word) == partial);
    if (word_state(word) == SLAB_PARTIAL) {
        partial_unlink(partial, slab);
    }
    const struct class_geometry *geometry = &class_geometry[word_class(word)];
    struct partial_counters *counters = &partial_counters[partial->class];
    counter_add_shared(&counters->released, geometry->slots - slab_count(slab, geometry));
    counter_add_shared(&counters->recycled, 1);
    store_seq_cst(&slab->word, word_with_state(word, SLAB_EMPTY));
    partial_unlock(partial, &after);
    partial_settle(&after);
}
