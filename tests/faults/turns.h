/* Lets the calls of a kind fail in turn: from the first on, from the second on, and so on, each time in a process of
 * its own. */
#ifndef TURNS_H
#define TURNS_H

#include "child.h"
#include "faults.h"

#include "common/size_class.h"
#include "figures.h"
#include "space/trap.h"

#include <tslab/tslab.h>

enum { NEVER_MADE = 2 };

struct turn {
    enum call call;
    unsigned from; /* counted from 0 */
    bool once;     /* only this one, and not all after it */
    void (*run)(const struct turn *);
};

static inline void turn_begins(const struct turn *turn)
{
    inject(turn->call, turn->from, turn->once ? turn->from + 1 : UINT32_MAX);
}

/* Ends the process when the call that should have failed was never made. */
static inline void turn_ends(const struct turn *turn)
{
    if (calls_made[turn->call] <= turn->from) {
        _exit(NEVER_MADE);
    }
    inject_nothing();
}

static inline void turn_body(const void *argument)
{
    const struct turn *const turn = (const struct turn *)argument;
    turn->run(turn);
}

/* Until no more such calls are made, or as many as `end`. There must be `least`. The steps are of `stride`, and grow to
 * one `part` of what is done (0: they do not). */
static inline void turns(struct turn *turn, unsigned least, unsigned end, unsigned stride, unsigned part)
{
    unsigned tried = 0;
    for (turn->from = 0; turn->from < end; turn->from += stride + (part == 0 ? 0 : turn->from / part)) {
        const struct child child = child_run(turn_body, turn);
        if (WIFEXITED(child.status) && WEXITSTATUS(child.status) == NEVER_MADE) {
            break;
        }
        if (child.status != 0 || child.said[0] != 0) {
            fail_msg("%s %u fails%s: status %#x, \"%s\"", call_names[turn->call], turn->from,
                     turn->once ? "" : " from then on", (unsigned)child.status, child.said);
        }
        tried++;
    }
    if (tried < least) {
        fail_msg("%s: only %u were tried", call_names[turn->call], tried);
    }
}

/* All was freed: what is committed is empty, or trapped. */
static inline void check_nothing_is_lost(void)
{
    (void)tslab_trim();
    struct tslab_stats stats;
    tslab_stats_get(&stats);
    CHECK_SAY(stats.live_objects == 0 && stats.allocations == stats.frees, "%zu objects are lost", stats.live_objects);
    CHECK_SAY(figure("slabs_opened") == figure("slabs_recycled") && stats.slab_bytes == 0, "slabs are lost");
    CHECK_SAY(stats.large_bytes == 0, "%zu bytes of large objects are lost", stats.large_bytes);
    CHECK_SAY(stats.threads == 1, "%zu threads are left", stats.threads);
    CHECK_SAY(stats.cached_bytes == 0, "%zu bytes are cached", stats.cached_bytes);
    CHECK_SAY(stats.dirty_bytes == 0, "%zu bytes are dirty", stats.dirty_bytes);
    const size_t trapped = counter_get(&trap_units) * (size_t)UNIT_BYTES;
    CHECK_SAY(figure("clean_bytes") + trapped == stats.committed_bytes, "%zu bytes are neither empty nor trapped",
              stats.committed_bytes - figure("clean_bytes") - trapped);
}

#endif
