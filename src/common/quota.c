/* The quotas of labels lie in a fixed table. A thread that opens an epoch reads it without the lock: a place is
 * complete before `count` is stored with release, and readers acquire that. */
#include "common/quota.h"

#include "common/size_class.h"
#include "os/lock.h"
#include "os/text.h"

#include <string.h>

struct label_quotas label_quotas;

static struct lock label_limits_lock = LOCK_INIT(RANK_LIMITS);

/* Cuts the next LABEL=BYTES off. False: it is none. */
static bool take_limit(struct slice *rest, struct slice *label, uint64_t *limit_units)
{
    static const uint64_t most = (uint64_t)1 << 50;
    uint64_t bytes;
    struct slice size = slice_cut(rest, ':');
    *label = slice_cut(&size, '=');
    if (label->length == 0 || label->length >= LABEL_BYTES || !slice_number(size, &bytes)) {
        return false;
    }
    *limit_units = bytes >> UNIT_SHIFT;
    return bytes >= UNIT_BYTES && bytes <= most;
}

static bool is_label(const struct label_quota *quota, struct slice label)
{
    size_t same = 0;
    while (same < label.length && quota->label[same] == label.start[same]) {
        same++;
    }
    return same == label.length && quota->label[same] == 0;
}

static struct label_quota *find_label(struct slice label)
{
    const uint32_t count = load_acquire(&label_quotas.count);
    invariant(count <= LABELS_LIMITED);
    for (uint32_t i = 0; i < count; i++) {
        if (is_label(&label_quotas.labels[i], label)) {
            return &label_quotas.labels[i];
        }
    }
    return NULL;
}

struct label_quota *label_quota_named(const char *label)
{
    invariant(label != NULL);
    return find_label((struct slice){ label, strnlen(label, LABEL_BYTES - 1) });
}

bool label_limits_fit(struct slice list)
{
    uint32_t count = load_acquire(&label_quotas.count);
    while (list.length > 0) {
        struct slice label;
        uint64_t limit_units;
        if (!take_limit(&list, &label, &limit_units)) {
            return false;
        }
        count += find_label(label) == NULL;
    }
    return count <= LABELS_LIMITED;
}

/* The last limit that the list has for the label. 0: it has none. */
static uint64_t limit_in(struct slice list, const struct label_quota *quota)
{
    uint64_t found = 0;
    invariant(lock_is_held(&label_limits_lock) && quota->label[0] != 0);
    while (list.length > 0) {
        struct slice label;
        uint64_t limit_units;
        if (take_limit(&list, &label, &limit_units) && is_label(quota, label)) {
            found = limit_units;
        }
    }
    return found;
}

bool label_limits_set(struct slice list)
{
    lock_acquire(&label_limits_lock);
    const bool fit = label_limits_fit(list);
    for (struct slice rest = list; fit && rest.length > 0;) {
        struct slice label;
        uint64_t limit_units;
        const uint32_t count = load_plain(&label_quotas.count);
        if (take_limit(&rest, &label, &limit_units) && find_label(label) == NULL) {
            invariant(count < LABELS_LIMITED && label.length < LABEL_BYTES);
            memcpy(label_quotas.labels[count].label, label.start, label.length);
            store_release(&label_quotas.count, count + 1);
        }
    }
    for (uint32_t i = 0; fit && i < load_plain(&label_quotas.count); i++) {
        struct label_quota *const label = &label_quotas.labels[i];
        store_plain(&label->quota.limit_units, limit_in(list, label));
    }
    lock_release(&label_limits_lock);
    return fit;
}

bool label_limit_get(uint32_t place, struct label_limit *limit)
{
    const struct label_quota *const found = &label_quotas.labels[place];
    if (place >= load_acquire(&label_quotas.count)) {
        return false;
    }
    invariant(place < LABELS_LIMITED && found->label[0] != 0);
    *limit = (struct label_limit){
        .label = found->label,
        .limit_bytes = load_plain(&found->quota.limit_units) << UNIT_SHIFT,
        .used_bytes = counter_get(&found->quota.units) << UNIT_SHIFT,
        .peak_used_bytes = counter_get(&found->peak_units) << UNIT_SHIFT,
        .refusals = counter_get(&found->refusals),
    };
    return true;
}

uint64_t label_limits_refused(void)
{
    uint64_t count = 0;
    struct label_limit limit;
    for (uint32_t i = 0; label_limit_get(i, &limit); i++) {
        count += limit.refusals;
    }
    return count;
}

void label_limits_tell(struct text *text)
{
    const size_t start = text->length;
    struct label_limit limit;
    for (uint32_t i = 0; label_limit_get(i, &limit); i++) {
        if (limit.limit_bytes != 0) {
            text_string(text, text->length == start ? "" : ":");
            text_foreign(text, limit.label);
            text_string(text, "=");
            text_scaled(text, limit.limit_bytes);
        }
    }
}
