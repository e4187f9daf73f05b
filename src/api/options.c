/* Options at run time. The limits are kept elsewhere, so they are read and set there. */
#include "base/build.h"

#include <tslab/tslab.h>

#include "common/option.h"
#include "malloc/current_thread.h"
#include "os/fatal.h"
#include "os/text.h"
#include "report/profile.h"
#include "space/limit.h"

#include <string.h>

/* Starts the engine, so that the options are read, and its start does not read them later. */
static void begin_options(void)
{
    struct thread *const thread = current_thread_get();
    if (thread != NULL) {
        current_thread_put(thread);
    }
}

TSLAB_API enum tslab_status tslab_option_get(const char *name, char *value, size_t bytes)
{
    const enum option option = name == NULL ? OPTION_COUNT : option_named(name);
    if (option == OPTION_COUNT || value == NULL) {
        return TSLAB_INVALID;
    }
    begin_options();
    char buffer[OPTION_TEXT_BYTES];
    struct text text = { .buffer = buffer, .capacity = sizeof buffer - 1 };
    option_tell(&text, option, limit_option(option));
    invariant(text.length < sizeof buffer);
    if (text.length >= bytes) {
        return TSLAB_INVALID;
    }
    memcpy(value, buffer, text.length);
    value[text.length] = 0;
    return TSLAB_OK;
}

/* They have a lock, which no fork may find taken. */
static enum tslab_status set_epoch_limits(const char *value)
{
    struct thread *const thread = current_thread_get();
    if (thread == NULL) {
        return TSLAB_NO_MEMORY;
    }
    gate_lock(&thread->gate);
    const bool valid = option_set(OPTION_EPOCH_LIMITS, value);
    gate_unlock(&thread->gate);
    current_thread_put(thread);
    return valid ? TSLAB_OK : TSLAB_INVALID;
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
    begin_options();
    if (option == OPTION_EPOCH_LIMITS) {
        return set_epoch_limits(value);
    }
    if (!option_set(option, value)) {
        return TSLAB_INVALID;
    }
    if (option == OPTION_LIMIT_BYTES || option == OPTION_SOFT_LIMIT_BYTES) {
        struct tslab_limits limits_now;
        limit_get(&limits_now);
        *(option == OPTION_LIMIT_BYTES ? &limits_now.hard_bytes : &limits_now.soft_bytes) = option_get(option);
        current_thread_set_limits(&limits_now);
    } else if (option == OPTION_PROFILE) {
        return profile_set(option_get(OPTION_PROFILE)) ? TSLAB_OK : TSLAB_NO_MEMORY;
    }
    return TSLAB_OK;
}
