/* One figure by its name: PREFIX.KEY.FIGURE, as each kind of figures has a key. A name is looked up before anything is
 * counted, so that one that is unknown costs a few compares. Labels may have dots, so the last dot ends the key. */
#include "base/build.h"

#include <tslab/tslab.h>

#include "audit/accounts.h"
#include "common/figures.h"
#include "common/quota.h"
#include "common/size_class.h"
#include "malloc/current_thread.h"
#include "os/fatal.h"
#include "report/epoch_list.h"
#include "report/statistics.h"

#include <string.h>

enum { NO_FIGURE = -1 };

/* The place of a name among names as FIGURE_NAME has them. NO_FIGURE: it is not there. */
static int figure_place(const char *names, const char *name)
{
    int place = 0;
    for (const char *at = names; *at != 0; at += strlen(at) + 1, place++) {
        if (strcmp(at, name) == 0) {
            return place;
        }
    }
    return NO_FIGURE;
}

static uint64_t figure_at(const void *figures, int place)
{
    invariant(place >= 0 && figures != NULL);
    return ((const uint64_t *)figures)[place];
}

static enum tslab_status total_get(const char *name, uint64_t *value)
{
    const int place = figure_place(TOTAL_FIGURES(FIGURE_NAME), name);
    struct total_figures totals;
    if (place == NO_FIGURE) {
        return TSLAB_INVALID;
    }
    stats_totals(&totals);
    *value = figure_at(&totals, place);
    return TSLAB_OK;
}

static enum tslab_status process_get(const char *key, const char *name, uint64_t *value)
{
    const int place = key[0] == 0 ? figure_place(PROCESS_FIGURES(FIGURE_NAME), name) : NO_FIGURE;
    struct process_figures figures;
    if (place == NO_FIGURE) {
        return TSLAB_INVALID;
    }
    stats_process_get(&figures);
    *value = figure_at(&figures, place);
    return TSLAB_OK;
}

/* All accounts together are one, of the name "committed". */
static enum tslab_status account_get(const char *key, const char *name, uint64_t *value)
{
    const int place = figure_place("committed\0" ACCOUNT_FIGURES(FIGURE_NAME), key);
    const int part = figure_place("bytes\0untouched_bytes\0", name);
    struct accounts accounts;
    if (place == NO_FIGURE || part == NO_FIGURE) {
        return TSLAB_INVALID;
    }
    accounts_take_resident(&accounts, RESIDENT_BY_FILE);
    *value = figure_at(&accounts, 2 * place + part);
    return TSLAB_OK;
}

static enum tslab_status class_get(const char *key, const char *name, uint64_t *value)
{
    const int place = figure_place(CLASS_FIGURES(FIGURE_NAME), name);
    size_t size = 0;
    for (const char *c = key; *c >= '0' && *c <= '9' && size <= class_geometry[CLASS_LIMIT - 1].size; c++) {
        size = size * 10 + (size_t)(*c - '0');
        key = c + 1;
    }
    for (unsigned class = 1; place != NO_FIGURE && *key == 0 && class < CLASS_LIMIT; class ++) {
        if (class_geometry[class].size == size) {
            struct class_figures figures;
            stats_class_get(class, &figures);
            *value = figure_at(&figures, place);
            return TSLAB_OK;
        }
    }
    return TSLAB_INVALID;
}

static enum tslab_status thread_get(const char *key, const char *name, uint64_t *value)
{
    const int place = key[0] == 0 ? figure_place(THREAD_FIGURES(FIGURE_NAME), name) : NO_FIGURE;
    if (place == NO_FIGURE) {
        return TSLAB_INVALID;
    }
    struct thread *const thread = current_thread_get();
    if (thread == NULL) {
        return TSLAB_NO_MEMORY;
    }
    struct thread_figures figures;
    stats_thread(thread, &figures);
    current_thread_put(thread);
    *value = figure_at(&figures, place);
    return TSLAB_OK;
}

static enum tslab_status label_get(const char *key, const char *name, uint64_t *value)
{
    const int place = figure_place(LABEL_FIGURES(FIGURE_NAME), name);
    const int of_limit = figure_place(LABEL_LIMIT_FIGURES(FIGURE_NAME), name);
    if (of_limit != NO_FIGURE) {
        struct label_limit limit;
        *value = 0;
        for (uint32_t i = 0; label_limit_get(i, &limit); i++) {
            if (strcmp(limit.label, key) == 0) {
                *value = figure_at(&limit.limit_bytes, of_limit);
            }
        }
        return TSLAB_OK;
    }
    struct label_group group;
    if (place == NO_FIGURE) {
        return TSLAB_INVALID;
    }
    if (!epochs_with_label(key, &group)) {
        return TSLAB_NO_MEMORY;
    }
    *value = figure_at(&group.labels, place);
    return TSLAB_OK;
}

static const struct {
    const char *prefix;
    enum tslab_status (*get)(const char *key, const char *name, uint64_t *value);
} kinds_of_figures[] = {
    { "process.", process_get }, { "account.", account_get }, { "class.", class_get },
    { "thread.", thread_get },   { "label.", label_get },
};

TSLAB_API enum tslab_status tslab_stat_get(const char *name, uint64_t *value)
{
    char key[sizeof((struct label_group *)NULL)->label];
    if (name == NULL || value == NULL) {
        return TSLAB_INVALID;
    }
    for (unsigned i = 0; i < sizeof kinds_of_figures / sizeof kinds_of_figures[0]; i++) {
        const size_t prefix = strlen(kinds_of_figures[i].prefix);
        if (strncmp(name, kinds_of_figures[i].prefix, prefix) == 0) {
            const char *const rest = name + prefix, *const dot = strrchr(rest, '.');
            const size_t length = dot == NULL ? 0 : (size_t)(dot - rest);
            if (length >= sizeof key) {
                return TSLAB_INVALID;
            }
            memcpy(key, rest, length);
            key[length] = 0;
            return kinds_of_figures[i].get(key, dot == NULL ? rest : dot + 1, value);
        }
    }
    return total_get(name, value);
}
