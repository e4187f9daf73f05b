// The sessions of the server: what outlives a request. Their number is bounded: a new one takes the place of an old
// one, in no order, as with users who come and go.

#ifndef SESSION_H
#define SESSION_H

#include "object.h"

#include <stdbool.h>

enum { SESSIONS_MOST = 1 << 20 };

// `inside`: the objects of a session are allocated in the unit of work of the request that makes it, else outside of
// any.
void sessions_init(uint32_t limit, bool inside);

// A new session for a user; the one in its place is checked and dropped, whichever thread made it.
void session_create(uint64_t user);

// A copy of what a session has for this user, to be dropped by the caller; NULL when its place is empty.
struct text *session_copy(uint64_t user);

// Drops all of them; returns how many there were. Nobody else may use them any more.
uint32_t sessions_close(void);

// What lives now, and what was made since the start; exact when nobody makes any.
struct session_counts {
    uint64_t live;
    uint64_t created;
    uint64_t bytes; // of those that live
};
struct session_counts sessions_count(void);

#endif
