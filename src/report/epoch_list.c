/* Descriptions of epochs for users: of one by its value, or of all that are not FREE, a few at a time. */
#include "report/epoch_list.h"

#include "epoch/survivors.h"
#include "malloc/current_thread.h"
#include "os/fatal.h"
#include "os/os.h"
#include "report/sized_structs.h"
#include "slab/epoch_record.h"

#include <errno.h>
#include <string.h>

/* A list describes this many epochs on the stack before it hands them to the caller. */
enum { LISTED_AT_ONCE = 8 };

static enum tslab_epoch_state state_of(uint64_t word)
{
    switch (epoch_word_state(word)) {
    case EPOCH_OPEN:
        return TSLAB_EPOCH_OPEN;
    case EPOCH_DRAINING:
        return TSLAB_EPOCH_DRAINING;
    default:
        return TSLAB_EPOCH_CLOSING;
    }
}

static void add_survivors(struct epoch *epoch, struct tslab_epoch_stats *stats)
{
    struct survivors sum;
    survivors_count(epoch, &sum);
    stats->live_objects += sum.objects;
    stats->live_bytes += sum.bytes;
    stats->memory_bytes += survivors_memory(&sum);
    stats->slab_bytes += sum.slab_bytes;
    stats->chunk_bytes += sum.chunk_bytes;
    stats->large_bytes += sum.large_bytes;
    stats->cached_bytes += sum.cached_bytes;
}

/* Describes an epoch. False: it is gone. */
static bool epoch_describe(struct epoch *epoch, struct tslab_epoch_stats *stats)
{
    const uint64_t word = load_seq_cst(&epoch->word);
    memset(stats, 0, sizeof *stats);
    stats->epoch.id = epoch_generation(word) | epoch->id;
    stats->parent.id = load_plain(&epoch->parent);
    stats->instance.id = load_plain(&epoch->is_instance) != 0 ? stats->epoch.id : load_plain(&epoch->instance);
    (void)epoch_label(epoch, stats->label);
    stats->policy = (enum tslab_policy)load_plain(&epoch->policy);
    stats->state = state_of(word);
    stats->inside = epoch_threads_inside(epoch);
    stats->age_ms = os_ms_since(load_plain(&epoch->opened_ms));
    stats->closed_ms = load_plain(&epoch->closed_ms) == 0 ? 0 : os_ms_since(load_plain(&epoch->closed_ms));
    stats->recycled_runs = counter_get(&epoch->recycled_runs);
    add_survivors(epoch, stats);
    struct epoch *handles = epoch_serving(epoch);
    if (handles != NULL && epoch_word_state(load_seq_cst(&handles->word)) != EPOCH_FREE) {
        add_survivors(handles, stats);
    }
    return epoch_word_state(word) != EPOCH_FREE && epoch_same_generation(word, load_seq_cst(&epoch->word)) &&
           epoch_word_state(load_seq_cst(&epoch->word)) != EPOCH_FREE;
}

TSLAB_API enum tslab_status tslab_epoch_stats_get_sized(tslab_epoch value, struct tslab_epoch_stats *stats, size_t size)
{
    struct epoch *epoch = epoch_is_hidden(value.id) ? NULL : epoch_by_value(value.id);
    if (epoch == NULL || stats == NULL || !sized_is_valid(size)) {
        return epoch == NULL ? TSLAB_STALE : TSLAB_INVALID;
    }
    struct thread *thread = current_thread_get();
    if (thread == NULL) {
        return TSLAB_NO_MEMORY;
    }
    gate_lock(&thread->gate);
    struct tslab_epoch_stats found;
    const bool described = epoch_describe(epoch, &found) && found.epoch.id == value.id;
    gate_unlock(&thread->gate);
    current_thread_put(thread);
    if (!described) {
        return TSLAB_STALE;
    }
    sized_give(stats, size, &found, sizeof found);
    return TSLAB_OK;
}

/* The first record from an index on that is not FREE and does not serve the handles of another one. The index receives
 * the one behind it. NULL: there are no more. */
static struct epoch *next_of_users(uint32_t *from)
{
    struct epoch *epoch = epoch_next(from);
    while (epoch != NULL &&
           (epoch_word_state(load_seq_cst(&epoch->word)) == EPOCH_FREE || load_plain(&epoch->owner) != NULL)) {
        epoch = epoch_next(from);
    }
    return epoch;
}

bool epochs_next(uint32_t *from, struct tslab_epoch_stats *entry)
{
    for (struct epoch *epoch; (epoch = next_of_users(from)) != NULL;) {
        if (epoch_describe(epoch, entry)) {
            return true;
        }
    }
    return false;
}

size_t epochs_describe(uint32_t *from, struct tslab_epoch_stats *entries, size_t capacity)
{
    struct thread *thread = current_thread_get();
    if (thread == NULL) {
        return 0;
    }
    size_t n = 0;
    gate_lock(&thread->gate);
    while (n < capacity && epochs_next(from, &entries[n])) {
        n++;
    }
    gate_unlock(&thread->gate);
    current_thread_put(thread);
    invariant(n <= capacity);
    return n;
}

TSLAB_API size_t tslab_epoch_list_sized(struct tslab_epoch_stats *entries, size_t capacity, size_t size)
{
    if (!sized_is_valid(size)) {
        errno = EINVAL;
        return 0;
    }
    struct tslab_epoch_stats some[LISTED_AT_ONCE];
    uint32_t from = 0;
    size_t n = 0;
    size_t found;
    while ((found = epochs_describe(&from, some, min_size(capacity - n, LISTED_AT_ONCE))) > 0) {
        for (size_t i = 0; i < found; i++) {
            sized_give((char *)entries + (n + i) * size, size, &some[i], sizeof some[i]);
        }
        n += found;
    }
    size_t more = 0;
    /* Only a full array leaves epochs untold. Where there was room, epochs that are new since the look are not counted,
     * because they have no entry. */
    while (n == capacity && next_of_users(&from) != NULL) {
        more++;
    }
    return n + more;
}
