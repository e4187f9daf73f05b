/* The world that the threads of a run work on: the real engine, with few units, on the rig's system (system.h), and a
 * ledger of the objects that users hold.
 *
 * The engine is started once. The state at the start of a scenario is copied, and copied back before every run.
 *
 * Threads follow scripts, words of a letter and mostly a number. Blanks do not matter:
 *
 *   a<class>   allocate          f, F  free one's oldest, newest object as users do
 *   m<class>   allocate with the magazine alone, if it can        g, G  the same straight to the slab
 *                                u     free one's newest object into the magazine alone, if it takes it
 *   e          empty one's heap                        t     trim
 *   $          look at what waits in the exchange: what nobody has asked for since the last look goes back, and all
 *              heaps that rest are emptied
 *   r          purge all that is empty                 v     look at every slab, for no reason
 *   h          purge the free pages of used slabs
 *   B<units>   allocate a large object (32: outside the arena; 4002: two units, aligned to four)
 *   Z<units>   resize one's newest object to so many units (0: to 1 KiB)
 *   o          say that the memory has grown, so that the next slow operation begins a sweep for holes
 *   x          the thread ends (its script may go on: later destructors do)
 *   <          a new thread begins in its place
 *   k          fork; the script goes on in the child, where the other threads are gone
 *   j          the same, and the program's fork handlers allocate
 *   K          fork; the script goes on in the parent
 *   n<units>   take a run out of the depot             b     put one's oldest run back
 *   s          send one's newest object to the post box w    wait for an object from the post box
 *   l          take a lock and let go of it
 *   p<number>  say that a point is reached             q<number>   wait for that
 *
 * some about epochs (epochs.h), and about what is seen of the process while it runs (live.h),
 *
 * and to set the start up:
 *
 *   @<thread>  whose turn it is                        ><thread>   hand the newest object to another thread */
#ifndef TSLAB_TESTS_SIM_WORLD_H
#define TSLAB_TESTS_SIM_WORLD_H

#include "epochs.h"
#include "live.h"
#include "thread/thread.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ACTORS = 4, BUILDER = ACTORS, OBJECTS_MAX = 64, RUNS_MAX = 8, RECORDS_MAX = 8, UNITS_MAX = 32 };

struct object {
    void *address; /* NULL: none */
    size_t bytes;
    uint32_t tag;    /* of its unit: it lies in a slab of the tag's class, in a chunk, or is a run */
    uint64_t epoch;  /* the value of the epoch that it belongs to; 0: the process */
    unsigned handle; /* above 0: the handle with this number, less 1, names it */
    int owner;       /* an actor, or -1 in the post box */
    uint32_t turn;   /* objects are held in this order */
    bool leaves;     /* its free is under way */
    unsigned serial; /* of the operation that allocated it */
    enum sampling_state sampling;
};

/* The operation of an actor that is under way. */
struct flight {
    bool on;
    bool allocates;
    bool moves; /* a resize, which may do both */
    struct object *frees;
    atomic_u64 *word; /* of the bitmap, where the slot's bit will be; NULL: the object is in no slab */
    uint64_t mask;
    bool given; /* the bit was seen there, or the object's code or tag was seen cleared */
    unsigned serial;
    enum sampling_state sampling; /* what was said to it when the operation began, */
    unsigned switches;            /* and how often that had changed */
    bool was_scarce;              /* at some step of the operation, memory for it could be missing */
};

struct held_run {
    uint32_t first, units;
    int owner;
};

struct world {
    struct object objects[OBJECTS_MAX];
    unsigned object_places; /* that were ever used */
    struct flight flights[ACTORS + 1];
    struct held_run runs[RUNS_MAX];
    uint32_t turn;
    uint32_t seen[UNITS_MAX];         /* the slabs' words at the last step */
    struct front *fronts[ACTORS + 1]; /* front_current of each actor before the run */
    struct lock section_lock;
    int in_section;
    bool forked;
    size_t dirty_seen;            /* units in the depot at the last step */
    unsigned dirtied[ACTORS + 1]; /* how often others added to them, since an actor began to reclaim */
    struct epoch_ledger epochs;
    struct live_ledger live;
};

extern struct world world;

static inline struct object *world_objects_end(void)
{
    return world.objects + world.object_places;
}

/* Whether its place is not to be touched: until it is given back. */
bool object_is_in_use(const struct object *object);

/* Whether the place of an object that is being freed is seen to be the engine's again. */
bool flight_has_landed(const struct flight *flight);

/* Enters an object into the ledger, as the actor's. The result is its place there. */
struct object *world_born(int actor, void *p, size_t bytes);

/* Ends an object in the ledger, whoever frees it. */
void world_died(struct object *object);

/* Marks the beginning of an actor's operation; `object`: that it frees, or NULL. And its end. */
struct flight *world_take_off(int actor, struct object *object);
void world_land(struct flight *flight);

/* The actor's oldest or newest object; NULL: none. */
struct object *world_held_by(int actor, bool newest);

/* Ends the run if the object was written to since it was born. */
void world_check_stamp(const struct object *object);

/* Whether an allocation may fail now: the arena has hardly anything left, and that is not what the scenario is about.
 */
bool world_is_full(void);

/* Around an operation that gives back what is empty. */
void world_reclaim_begins(int actor);
void world_reclaim_ends(int actor);

/* Every record that the engine made. */
extern struct thread *world_records[RECORDS_MAX];
extern unsigned world_record_count;

struct world_start {
    const char *setup;
    bool magazines;  /* else every operation goes to a slab */
    bool retains;    /* else what is empty is purged at once */
    uint32_t units;  /* that the arena has, one of them never used; 0: enough */
    uint64_t policy; /* the option of that name */
    uint32_t most;   /* units that the arena may grow to; 0: it is as large as it may be */
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
