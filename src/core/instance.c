/* To close an instance is to release each epoch that names it, and the root last, with one report for all. */
#include "core/instance.h"

#include "core/ending.h"
#include "os/fatal.h"

struct epoch *instance_root(uint64_t value)
{
    struct epoch *epoch = epoch_by_value(value);
    return epoch != NULL && load_plain(&epoch->is_instance) != 0 ? epoch : NULL;
}

static bool is_member(const struct epoch *epoch, uint64_t instance)
{
    return load_plain(&epoch->instance) == instance && epoch_word_state(load_seq_cst(&epoch->word)) != EPOCH_FREE;
}

/* A first look whether a thread is inside of any epoch of the instance. Then nothing is released. */
static bool is_busy(const struct epoch *root, uint64_t instance)
{
    for (const struct epoch *epoch = epoch_next(0); epoch != NULL; epoch = epoch_next(epoch->id + 1)) {
        if ((epoch == root || is_member(epoch, instance)) && epoch_threads_inside(epoch) > 0) {
            return true;
        }
    }
    return false;
}

static void instance_add_report(struct tslab_epoch_report *sum, const struct tslab_epoch_report *part)
{
    sum->survivors += part->survivors;
    sum->survivor_bytes += part->survivor_bytes;
    sum->recycled_bytes += part->recycled_bytes;
    sum->reclaimed_bytes += part->reclaimed_bytes;
    sum->rss_change_bytes += part->rss_change_bytes;
}

int instance_close(struct thread *thread, uint64_t value, bool reclaims, struct tslab_epoch_report *report)
{
    const struct epoch *const root = instance_root(value);
    if (root == NULL) {
        return TSLAB_STALE;
    }
    if (is_busy(root, value)) {
        return TSLAB_BUSY;
    }
    struct tslab_epoch_report sum = { 0 };
    for (const struct epoch *epoch = epoch_next(0); epoch != NULL; epoch = epoch_next(epoch->id + 1)) {
        if (!is_member(epoch, value)) {
            continue;
        }
        invariant(epoch != root); /* an instance is in no other one */
        struct tslab_epoch_report part = { 0 };
        const int status = ending_release(thread, epoch_value(epoch), reclaims, &part);
        if (status == TSLAB_BUSY || status == TSLAB_NO_MEMORY) {
            return status; /* a thread came in between; the epochs that were released stay so */
        }
        instance_add_report(&sum, &part);
    }
    struct tslab_epoch_report last = { 0 };
    const int status = ending_release(thread, value, reclaims, &last);
    if (report != NULL && status >= 0) {
        *report = last;
        instance_add_report(report, &sum);
    }
    return status;
}
