/* What the threads of a run work on: the real engine, with few units, and a ledger of the objects that users hold.
 *
 * The engine is started once; the state at the start of a scenario is copied, and copied back before every run.
 *
 * Threads follow scripts, words of a letter and mostly a number; blanks do not matter:
 *
 *   a<class>   allocate          f, F  free one's oldest, newest object as users do
 *   m<class>   allocate with the magazine alone, if it can        g, G  the same straight to the slab
 *                                u     free one's newest object into the magazine alone, if it takes it
 *   e          empty one's heap                        t     trim
 *   r          purge all that is empty                 v     look at every slab, for no reason
 *   h          purge the free pages of used slabs
 *   x          the thread ends (its script may go on: later destructors do)
 *   k          fork; the script goes on in the child, where the other threads are gone
 *   j          the same, and the program's fork handlers allocate
 *   K          fork; the script goes on in the parent
 *   n<units>   take a run out of the depot             b     put one's oldest run back
 *   s          send one's newest object to the post box
 *   w          wait for an object from the post box    l     take a lock and let go of it
 *   p<number>  say that a point is reached             q<number>   wait for that
 *
 * and to set the start up:
 *
 *   @<thread>  whose turn it is                        ><thread>   hand the newest object to another thread
 */
#ifndef TSLAB_TESTS_SIM_WORLD_H
#define TSLAB_TESTS_SIM_WORLD_H

#include "core/thread.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ACTORS = 4, BUILDER = ACTORS, OBJECTS_MAX = 64, RUNS_MAX = 8, RECORDS_MAX = 8, UNITS_MAX = 24 };

struct object {
    void *address; /* NULL: none */
    unsigned class;
    int owner;     /* an actor, or -1 in the post box */
    uint32_t turn; /* objects are held in this order */
    bool leaves;   /* its free is under way */
};

/* The operation of an actor that is under way. */
struct flight {
    bool on;
    bool allocates;
    struct object *frees;
    atomic_u64 *word; /* of the bitmap, where the slot's bit will be */
    uint64_t mask;
    bool given; /* the bit was seen there */
};

struct held_run {
    uint32_t first, units;
    int owner;
};

struct world {
    struct object objects[OBJECTS_MAX];
    struct flight flights[ACTORS + 1];
    struct held_run runs[RUNS_MAX];
    uint32_t turn;
    uint32_t seen[UNITS_MAX];       /* the slabs' words at the last step */
    struct heap *heaps[ACTORS + 1]; /* heap_current of each actor before the run */
    struct lock section_lock;
    int in_section;
    bool forked;
};

extern struct world world;

/* Whether its place is not to be touched: until it is given back. */
bool object_is_in_use(const struct object *object);

/* Every record that the engine made. */
extern struct thread *world_records[RECORDS_MAX];
extern unsigned world_record_count;

struct world_start {
    const char *setup;
    bool magazines; /* else every operation goes to a slab */
    bool retains;   /* else what is empty is purged at once */
};

/* Brings the engine into a start state and remembers it. */
void world_set_up(const struct world_start *start);

/* Goes back to that state. */
void world_reset(void);

/* Does what a script says in the name of an actor. */
void world_follow(int actor, const char *script);

/* Before every atomic operation: no state changes but as the protocol says, none of a slab in use. */
void oracle_step(void);

/* When all threads are done: every slot is in one place, and every slab in the one that its slots ask for. Returns NULL
 * or what is wrong. */
const char *oracle_rest(void);

/* Frees every object, empties every heap: afterwards everything is in the depot. NULL or what is wrong. */
const char *world_tear_down(void);

#endif
