/* Few labels have limits, so they are in a table that is searched from the start. */
#include "core/quota.h"

#include "base/limits.h"
#include "core/arena.h"

#include <string.h>

enum { LABELS_MOST = 16 };

static struct {
    char label[EPOCH_LABEL_BYTES];
    struct quota quota;
} limited_labels[LABELS_MOST];
static unsigned label_count;

uint64_t quota_units(uint64_t bytes)
{
    return bytes == 0 ? 0 : max_size(bytes >> UNIT_SHIFT, 1);
}

struct quota *quota_of_label(const char *label)
{
    for (unsigned i = 0; label != NULL && i < label_count; i++) {
        if (strncmp(limited_labels[i].label, label, EPOCH_LABEL_BYTES - 1) == 0) {
            return &limited_labels[i].quota;
        }
    }
    return NULL;
}

bool quota_limit_label(const char *label, size_t length, uint64_t bytes)
{
    if (label_count == LABELS_MOST || length == 0 || length >= EPOCH_LABEL_BYTES) {
        return false;
    }
    memcpy(limited_labels[label_count].label, label, length);
    store_plain(&limited_labels[label_count].quota.limit_units, quota_units(bytes));
    label_count++;
    invariant(quota_of_label(limited_labels[label_count - 1].label) != NULL);
    return true;
}
