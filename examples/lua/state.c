#include "state.h"

#include <stdint.h>

static tslab_epoch epoch_of(void *context)
{
    return (tslab_epoch){ (uintptr_t)context };
}

/* As lua_Alloc: a size of 0 frees. A block that grows or shrinks stays in its epoch. */
static void *allocate(void *context, void *p, size_t old_size, size_t size)
{
    (void)old_size;
    if (size == 0) {
        tslab_free(p);
        return NULL;
    }
    return p == NULL ? tslab_epoch_malloc(epoch_of(context), size) : tslab_realloc(p, size);
}

lua_State *state_open(const char *label, size_t limit_bytes)
{
    const struct tslab_epoch_options options = {
        .label = label,
        .policy = TSLAB_POLICY_RELEASE,
        .limit_bytes = limit_bytes,
    };
    const tslab_epoch epoch = tslab_epoch_open(&options);
    lua_State *const state = epoch.id == 0 ? NULL : lua_newstate(allocate, (void *)(uintptr_t)epoch.id);
    if (state == NULL && epoch.id != 0) {
        tslab_epoch_close(epoch, 0, NULL);
    }
    return state;
}

tslab_epoch state_epoch(lua_State *state)
{
    void *context;
    (void)lua_getallocf(state, &context);
    return epoch_of(context);
}

void state_end(lua_State *state, struct tslab_epoch_report *report)
{
    tslab_epoch_close(state_epoch(state), 0, report);
}

void state_close(lua_State *state, struct tslab_epoch_report *report)
{
    const tslab_epoch epoch = state_epoch(state);
    lua_close(state);
    tslab_epoch_close(epoch, 0, report);
}
