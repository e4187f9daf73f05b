/* Lua states in epochs of the tslab memory allocator: all objects of a state, which Lua takes from one function,
 * are in an epoch of its own. So a state may have a limit, and ends as a whole.
 *
 *     cc -c tslab.c state.c -I/usr/include/lua5.4                 tslab.c and tslab.h: `make amalgamation`
 */
#ifndef TSLAB_LUA_STATE_H
#define TSLAB_LUA_STATE_H

#include <lua.h>

#include "tslab.h"

/* Opens a state whose objects may have that much memory (0: any). Beyond it scripts get Lua's error "not enough
 * memory". Returns: the state, which state_end or lua_close ends. NULL: out of memory. */
lua_State *state_open(const char *label, size_t limit_bytes);

/* The epoch of the state. */
tslab_epoch state_epoch(lua_State *state);

/* Ends the state and all of its objects at once. Nothing that they have beside memory is closed, as files and
 * libraries: their finalizers (__gc) do not run. Requires: no other state has taken objects of its. */
void state_end(lua_State *state, struct tslab_epoch_report *report);

/* As lua_close, for states whose finalizers matter. */
void state_close(lua_State *state, struct tslab_epoch_report *report);

#endif
