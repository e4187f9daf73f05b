/* Reports of a running process, in the world of the simulation: reports that are due, and sampled objects.
 *
 *   %        a signal asks for a report, which the first one of these makes ready
 *   #        come by, as a slow operation does          ;       the same as the keeper does
 *   [<n>     sample: 1 each object, 0 none, and what was sampled is forgotten; 2 none from now on, 3 some
 *   |        look which sampled objects live */
#ifndef TSLAB_TESTS_SIM_LIVE_H
#define TSLAB_TESTS_SIM_LIVE_H

#include <stdbool.h>
#include <stdint.h>

struct object;
struct flight;

enum { LIVE_ACTORS = 5 };

/* Whether an object is sampled. BLIND: nor are samples ended that were taken of its place before. */
enum sampling_state { SAMPLING_UNKNOWN, SAMPLING_ALL, SAMPLING_NONE, SAMPLING_BLIND };

/* The rig's record of these. */
struct live_ledger {
    bool reports;                    /* they are made ready */
    unsigned asked;                  /* signals that came, */
    unsigned answered;               /* and those before the last report began */
    unsigned busy;                   /* actors that write right now */
    enum sampling_state sampling;    /* of allocations that begin now */
    unsigned switches, switching;    /* how often that has begun or ended to change; how many change it right now */
    unsigned serial;                 /* of the last operation, */
    unsigned serial_of[LIVE_ACTORS]; /* and of the one that is under way */
    unsigned births;                 /* operations that may have allocated */
};

/* An operation begins, and an object is born by it. */
void live_take_off(struct flight *flight);
void live_born(struct object *object, const struct flight *flight);

/* Does an operation of a script. False when it is about something else. */
bool live_operate(int actor, char what, int number);

/* The ledger in the child of a fork. */
void live_forked(void);

/* When all threads are done: what was asked for is done, and what is sampled lives. NULL, or what is wrong. */
const char *live_rest(void);

/* When all objects are gone. */
const char *live_gone(void);

#endif
