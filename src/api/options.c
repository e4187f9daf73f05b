/* Options at run time. The limits are kept elsewhere, so they are read and set there. */
#include "base/build.h"

#include <tslab/tslab.h>

#include "core/current.h"
#include "core/due.h"
#include "core/limit.h"
#include "core/option.h"
#include "core/profile.h"
#include "os/fatal.h"
#include "os/text.h"

static uint64_t value_of(enum option option)
{
    struct tslab_limits limits_now;
    limit_get(&limits_now);
    invariant(option < OPTION_COUNT);
    return option == OPTION_LIMIT_BYTES        ? limits_now.hard_bytes
           : option == OPTION_SOFT_LIMIT_BYTES ? limits_now.soft_bytes
                                               : option_get(option);
}

TSLAB_API enum tslab_status tslab_option_get(const char *name, char *value, size_t bytes)
{
    const enum option option = name == NULL ? OPTION_COUNT : option_named(name);
    if (option == OPTION_COUNT || value == NULL) {
        return TSLAB_INVALID;
    }
    (void)current_get(); /* the engine runs, and so the options are read */
    char buffer[OPTION_PATH_MOST + 1];
    struct text text = { .buffer = buffer, .capacity = sizeof buffer };
    option_tell(&text, option, value_of(option));
    invariant(text.length < sizeof buffer);
    if (text.length >= bytes) {
        return TSLAB_INVALID;
    }
    for (size_t i = 0; i < text.length; i++) {
        value[i] = buffer[i];
    }
    value[text.length] = 0;
    return TSLAB_OK;
}

TSLAB_API enum tslab_status tslab_option_set(const char *name, const char *value)
{
    const enum option option = name == NULL ? OPTION_COUNT : option_named(name);
    if (option == OPTION_COUNT || value == NULL) {
        return TSLAB_INVALID;
    }
    if (!option_may_change(option)) {
        return TSLAB_FIXED;
    }
    (void)current_get(); /* the engine runs, so that its start does not read the options later */
    if (!option_set(option, value)) {
        return TSLAB_INVALID;
    }
    if (option == OPTION_LIMIT_BYTES || option == OPTION_SOFT_LIMIT_BYTES) {
        struct tslab_limits limits_now;
        limit_get(&limits_now);
        *(option == OPTION_LIMIT_BYTES ? &limits_now.hard_bytes : &limits_now.soft_bytes) = option_get(option);
        limit_set(&limits_now);
    } else if (option == OPTION_STATS_INTERVAL_MS) {
        due_arm();
    } else if (option == OPTION_PROFILE) {
        return profile_set(option_get(OPTION_PROFILE)) ? TSLAB_OK : TSLAB_NO_MEMORY;
    }
    return TSLAB_OK;
}
