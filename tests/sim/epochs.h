/* Epochs in the world of the simulation: the operations of scripts that are about them, and what the oracle asks of
 * them.
 *
 *   O<n>     open epoch n (0 to 4), drained when it is closed; its objects stay until they are freed
 *   N<n>     the same, and who survives is told
 *   P<n>     the same, released: its objects end with it
 *   T<n>     the same, trapped: and may not be touched any more
 *   E<n>     enter it                                   L<n>    leave it
 *   C<n>     close it                                   R<n>    release it
 *   c<n>     close it with a report, and reclaim        d<n>    release it so
 *   V<n>     advance: close it and open the next, which the thread is inside of if it was inside of it
 *   A<n><c>  allocate so much as class c has, by name   S<n><c> the same, in a slab
 *   M<c>     allocate in the chunk of the scope, if it can, with a switch at each write
 *   U        free one's newest object so, if it is in a chunk that the scope fills or has filled
 *   H<n>     allocate an object with a handle           D<i>, J<i>   free, look at the i-th handle
 *   y<n>     count what is alive                        z       put away the warm epochs
 *   (        pause plain malloc's landing in epochs     )       resume it
 *   I<n>     open an instance, and name its root n      Q<n>    close it
 *   X<n><m>  open epoch n in instance m
 *   W        begin a unit of work                       Y       end it
 *   !        rotate the epochs of units                 i       read all statistics
 *   ~<n>     set the limits by label of list n          _       read them
 *
 * Plain a<c> inside of a scope lands in its epoch: classes 1 and 2 in its chunk, class 3 as a run. */
#ifndef TSLAB_TESTS_SIM_EPOCHS_H
#define TSLAB_TESTS_SIM_EPOCHS_H

#include "epoch/scope.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    EPOCHS_MAX = 5,
    EPOCH_RECORDS = 1 << EPOCH_BLOCK_SHIFT,
    INSIDERS = 5,
    INSIDE_MAX = 16,
    HANDLES_MAX = 8,
    ENDED_MAX = 8
};

struct object;

/* The rig's record of epochs. */
struct epoch_ledger {
    uint64_t value[EPOCHS_MAX];
    uint64_t seen[EPOCH_RECORDS]; /* the records' words at the last step */
    struct {
        uint64_t handle, epoch;
        struct object *object; /* NULL: it was freed, or its epoch released */
        bool leaves;           /* a free of it is under way, or was */
    } handles[HANDLES_MAX];
    unsigned handle_count;
    bool handles_wanted;       /* somebody has begun to allocate one */
    uint64_t ended[ENDED_MAX]; /* values of epochs whose objects ended with them, the latest ones */
    unsigned ended_count;
    uint64_t opened[EPOCH_RECORDS]; /* the value of each record that a script opened last, */
    unsigned label[EPOCH_RECORDS];  /* and its label */
    unsigned labels;
    uint64_t trapped[EPOCH_RECORDS];   /* a bit for each unit that had objects when they ended, */
    unsigned forbids[EPOCH_RECORDS];   /* and how many runs had been forbidden by then, */
    unsigned under_way[EPOCH_RECORDS]; /* some of which others may count later */
    unsigned rotations;                /* that were done, */
    unsigned rotated[INSIDERS];        /* when an actor's epoch of units was opened */
    uint64_t unit_epoch[INSIDERS];
    uint64_t inside[INSIDERS][INSIDE_MAX]; /* what each actor has entered and not begun to leave, innermost last */
    unsigned depth[INSIDERS];
};

/* The record with an index below EPOCH_RECORDS; NULL: not there, and none with a higher index. Unlike the engine's own
 * functions, at no point switches. */
static inline struct epoch *epochs_record(uint32_t id)
{
    struct epoch_block *block = atomic_load_explicit(&epoch_blocks[0], memory_order_relaxed);
    return block != NULL && id > EPOCH_PROCESS && id < EPOCH_RECORDS && block->records[id].id != 0 ? &block->records[id]
                                                                                                   : NULL;
}

/* Whether any was ever opened. */
static inline bool epochs_are_there(void)
{
    return atomic_load_explicit(&epoch_blocks[0], memory_order_relaxed) != NULL;
}

/* Of all heaps of epochs that were ever made, the one with a number; NULL: there are no more. */
const struct heap *epochs_heap(unsigned n);

static inline enum epoch_state epochs_state(const struct epoch *epoch)
{
    return epoch_word_state(atomic_load_explicit(&epoch->word, memory_order_relaxed));
}

/* The record that a value names, if it is of that generation still, and not FREE; else NULL. */
struct epoch *epochs_named(uint64_t value);

/* Where the value of epoch n is kept. */
uint64_t *epochs_value(int number);

/* Enters an epoch that a script has opened just now into the ledger; 0: it was refused. */
void epochs_opened(int number, uint64_t value);

/* The label of the next one. */
struct label {
    char text[16];
};
struct label epochs_next_label(void);

/* Does an operation of a script that is in works.c. False when it is about something else. */
bool works_operate(int actor, char what, int number);

/* Does an operation of a script. False when it is about something else. */
bool epochs_operate(int actor, char what, int number);

/* The first step of a thread that ends. */
void epochs_thread_ends(int actor);

/* The ledger in the child of a fork: nobody is inside but the forking thread. */
void epochs_forked(int actor);

/* Codes where no object can have one. NULL, or what is wrong. */
const char *epochs_check_codes(uint32_t unit, uint32_t units);

/* A run with a word of no class, where users' objects may lie. NULL, or what is wrong. */
const char *epochs_check_run(uint32_t unit, unsigned *lost);

/* The records at the start of a run. */
void epochs_look(void);

/* Parts of the oracle and of the world: see there. */
void epochs_step(void);
const char *epochs_rest(void);
const char *epochs_end(struct thread *thread);
const char *epochs_gone(void);

#endif
