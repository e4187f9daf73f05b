/* To close an instance is to release each epoch that names it, and the root last, with one report for all. */
#include "epoch/instance.h"

#include "epoch/ending.h"
#include "os/fatal.h"

struct epoch *instance_root(uint64_t value)
{
    struct epoch *epoch = epoch_by_value(value);
    return epoch != NULL && load_plain(&epoch->is_instance) != 0 ? epoch : NULL;
}

/* The value of a record's present epoch if that is a member of the instance; else 0. */
static uint64_t member_value(const struct epoch *epoch, uint64_t instance)
{
    const uint64_t word = load_seq_cst(&epoch->word);
    const bool is_member = epoch_word_state(word) != EPOCH_FREE && load_plain(&epoch->instance) == instance;
    return is_member ? epoch_generation(word) | epoch->id : 0;
}

/* A first look whether a thread is inside of any epoch of the instance. Then nothing is released. In the gate. */
static bool is_busy(struct epoch *root, uint64_t instance)
{
    bool busy = epoch_threads_inside(root) > 0;
    for (uint32_t n = epoch_member_count(root); n > 0 && !busy; n--) {
        const struct epoch *const epoch = epoch_next_member(root);
        busy = epoch != NULL && member_value(epoch, instance) != 0 && epoch_threads_inside(epoch) > 0;
    }
    return busy;
}

/* The value of the next epoch of the instance, of at most *n records of its list that are left to look at. 0: there are
 * no more. In the gate. */
static uint64_t next_member(struct epoch *root, uint64_t instance, uint32_t *n)
{
    for (; *n > 0; --*n) {
        const struct epoch *const epoch = epoch_next_member(root);
        const uint64_t value = epoch == NULL ? 0 : member_value(epoch, instance);
        if (value != 0) {
            --*n;
            return value;
        }
    }
    return 0;
}

int instance_close(struct thread *thread, uint64_t value, bool reclaims, struct tslab_epoch_report *report)
{
    struct epoch *const root = instance_root(value);
    if (root == NULL) {
        return TSLAB_STALE;
    }
    gate_lock(&thread->gate);
    const bool busy = is_busy(root, value);
    uint32_t left = epoch_member_count(root);
    gate_unlock(&thread->gate);
    if (busy) {
        return TSLAB_BUSY;
    }
    struct tslab_epoch_report sum = { 0 };
    for (;;) {
        gate_lock(&thread->gate);
        const uint64_t member = next_member(root, value, &left);
        gate_unlock(&thread->gate);
        if (member == 0) {
            break;
        }
        invariant(member != value); /* an instance is in no other one */
        struct tslab_epoch_report part = { 0 };
        const int status = ending_release(thread, member, reclaims, &part);
        if (status == TSLAB_BUSY || status == TSLAB_NO_MEMORY) {
            return status; /* a thread came in between; the epochs that were released stay so */
        }
        ending_add_report(&sum, &part);
    }
    struct tslab_epoch_report last = { 0 };
    const int status = ending_release(thread, value, reclaims, &last);
    if (report != NULL && status >= 0) {
        *report = last;
        ending_add_report(report, &sum);
    }
    return status;
}
