/* One figure by its name: PREFIX.KEY.FIGURE, as each kind of figures has a key. A name is looked up before anything is
 * counted, so that one that is unknown costs a few compares. Labels may have dots, so the last dot ends the key. */
#include "base/build.h"

#include <tslab/tslab.h>

#include "audit/accounts.h"
#include "common/figures.h"
#include "common/quota.h"
#include "common/size_class.h"
#include "common/slice.h"
#include "malloc/current_thread.h"
#include "os/fatal.h"
#include "report/epoch_list.h"
#include "report/statistics.h"

#include <string.h>

/* The figures of a kind, which follow each other as 64-bit numbers. */
union figures {
    struct total_figures totals;
    struct process_figures process;
    struct account account;
    struct class_figures class;
    struct thread_figures thread;
    struct label_group group;
    struct label_limit limit;
};

static enum tslab_status totals_get(const char *key, union figures *figures)
{
    (void)key;
    stats_totals(&figures->totals);
    return TSLAB_OK;
}

static enum tslab_status process_get(const char *key, union figures *figures)
{
    (void)key;
    stats_process_get(&figures->process);
    return TSLAB_OK;
}

/* All accounts together are one, of the name "committed". */
static enum tslab_status account_get(const char *key, union figures *figures)
{
    unsigned number = 0;
    const bool is_sum = strcmp(key, "committed") == 0;
    while (number < ACCOUNTS && !is_sum && strcmp(account_names[number], key) != 0) {
        number++;
    }
    if (number == ACCOUNTS) {
        return TSLAB_INVALID;
    }
    struct accounts accounts;
    (void)accounts_take(&accounts, RESIDENT_BY_FILE);
    figures->account = is_sum ? (struct account){ accounts.committed_bytes, accounts.untouched_bytes }
                              : *account_of(&accounts, number);
    return TSLAB_OK;
}

static enum tslab_status class_get(const char *key, union figures *figures)
{
    uint64_t size = 0;
    const bool is_number = slice_number((struct slice){ key, strlen(key) }, &size);
    for (unsigned class = 1; is_number && class < CLASS_LIMIT; class ++) {
        if (class_geometry[class].size == size) {
            stats_class_get(class, &figures->class);
            return TSLAB_OK;
        }
    }
    return TSLAB_INVALID;
}

static enum tslab_status thread_get(const char *key, union figures *figures)
{
    struct thread *const thread = current_thread_get();
    (void)key;
    if (thread == NULL) {
        return TSLAB_NO_MEMORY;
    }
    stats_thread(thread, &figures->thread);
    current_thread_put(thread);
    return TSLAB_OK;
}

static enum tslab_status label_get(const char *key, union figures *figures)
{
    return epochs_with_label(key, &figures->group) ? TSLAB_OK : TSLAB_NO_MEMORY;
}

static enum tslab_status label_limit_of(const char *key, union figures *figures)
{
    for (uint32_t i = 0; label_limit_get(i, &figures->limit); i++) {
        if (strcmp(figures->limit.label, key) == 0) {
            return TSLAB_OK;
        }
    }
    figures->limit = (struct label_limit){ .label = key };
    return TSLAB_OK;
}

static const struct figure_kind {
    const char *prefix, *names;
    bool has_key;
    size_t start; /* of the figures in the union */
    enum tslab_status (*get)(const char *key, union figures *figures);
} kinds_of_figures[] = {
    { "process.", PROCESS_FIGURES(FIGURE_NAME), false, 0, process_get },
    { "account.", "bytes\0untouched_bytes\0", true, 0, account_get },
    { "class.", CLASS_FIGURES(FIGURE_NAME), true, 0, class_get },
    { "thread.", THREAD_FIGURES(FIGURE_NAME), false, 0, thread_get },
    { "label.", LABEL_FIGURES(FIGURE_NAME), true, offsetof(struct label_group, labels), label_get },
    { "label.", LABEL_LIMIT_FIGURES(FIGURE_NAME), true, offsetof(struct label_limit, limit_bytes), label_limit_of },
    { "", TOTAL_FIGURES(FIGURE_NAME), false, 0, totals_get },
};

/* The kind of figures that has a figure of this name, and its place among them. NULL: there is none. */
static const struct figure_kind *kind_with(const char *name, const char *figure, unsigned *place)
{
    for (unsigned i = 0; i < sizeof kinds_of_figures / sizeof kinds_of_figures[0]; i++) {
        const struct figure_kind *const kind = &kinds_of_figures[i];
        const bool has_prefix = strncmp(name, kind->prefix, strlen(kind->prefix)) == 0;
        *place = 0;
        for (const char *at = kind->names; has_prefix && *at != 0; at += strlen(at) + 1, ++*place) {
            if (strcmp(at, figure) == 0) {
                return kind;
            }
        }
    }
    return NULL;
}

TSLAB_API enum tslab_status tslab_stat_get(const char *name, uint64_t *value)
{
    char key[sizeof((struct label_group *)NULL)->label] = { 0 };
    const char *const dot = name == NULL ? NULL : strrchr(name, '.');
    unsigned place;
    const struct figure_kind *const kind = name == NULL ? NULL : kind_with(name, dot == NULL ? name : dot + 1, &place);
    if (kind == NULL || value == NULL) {
        return TSLAB_INVALID;
    }
    const char *const rest = name + strlen(kind->prefix);
    const size_t length = dot == NULL || dot < rest ? 0 : (size_t)(dot - rest);
    if (length >= sizeof key || (length != 0 && !kind->has_key)) {
        return TSLAB_INVALID;
    }
    union figures figures;
    memcpy(key, rest, length);
    const enum tslab_status status = kind->get(key, &figures);
    if (status == TSLAB_OK) {
        memcpy(value, (const char *)&figures + kind->start + place * sizeof *value, sizeof *value);
    }
    return status;
}
