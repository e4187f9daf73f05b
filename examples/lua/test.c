/* Objects land in the epoch of their state and end with it; a limit is an error of the script; finalizers run where
 * asked. */
#include "state.h"

#include <assert.h>
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <string.h>

enum { OBJECTS = 1000, ROUNDS = 1000, STATE_BYTES = 200 << 10 };

static const char fill[] =
    "local all = {} for i = 1, 1000 do all[i] = { 'object ' .. i } end kept = all return all[7][1]";
static const char grow[] = "local s = 'x' while true do s = s .. s end";

static lua_State *open_with_libraries(size_t limit_bytes)
{
    lua_State *const state = state_open("script", limit_bytes);
    assert(state != NULL);
    luaL_openlibs(state);
    return state;
}

static void objects_end_at_once(void)
{
    struct tslab_epoch_report report;
    lua_State *const state = open_with_libraries(0);
    assert(luaL_dostring(state, fill) == 0);
    const char *const text = lua_tostring(state, -1);
    assert(strcmp(text, "object 7") == 0);
    assert(tslab_epoch_of(text).id == state_epoch(state).id);
    state_end(state, &report);
    assert(report.survivors > 2 * OBJECTS);
}

/* The checked library, too, keeps the memory of few states from reuse. */
static void memory_comes_back(void)
{
    size_t most = 0;
    for (int i = 0; i < ROUNDS; i++) {
        objects_end_at_once();
        const size_t now = tslab_limits_get(NULL);
        most = now > most ? now : most;
    }
    assert(most >= STATE_BYTES && most <= (size_t)ROUNDS / 2 * STATE_BYTES);
}

static void limits_are_errors(void)
{
    struct tslab_epoch_report report;
    lua_State *const state = open_with_libraries(4 << 20);
    assert(luaL_dostring(state, grow) != 0);
    assert(strstr(lua_tostring(state, -1), "not enough memory") != NULL);
    lua_settop(state, 0);
    assert(luaL_dostring(state, fill) == 0); /* it goes on */
    state_close(state, &report);
    assert(report.survivors == 0);
}

static int count(lua_State *state)
{
    int *const finalized = lua_touserdata(state, lua_upvalueindex(1));
    ++*finalized;
    return 0;
}

static void finalizers_run_when_closed(void)
{
    int finalized = 0;
    for (int closes = 0; closes <= 1; closes++) {
        lua_State *const state = open_with_libraries(0);
        (void)lua_newuserdata(state, 1);
        lua_createtable(state, 0, 1);
        lua_pushlightuserdata(state, &finalized);
        lua_pushcclosure(state, count, 1);
        lua_setfield(state, -2, "__gc");
        lua_setmetatable(state, -2);
        closes ? state_close(state, NULL) : state_end(state, NULL);
        assert(finalized == closes);
    }
}

int main(void)
{
    objects_end_at_once();
    memory_comes_back();
    limits_are_errors();
    finalizers_run_when_closed();
    puts("done");
    return 0;
}
