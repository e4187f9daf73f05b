/* The model: which epochs, scopes, units of work and instances there are, as the library's header says they must be,
 * beside the objects (objects.h).
 *
 * Several threads, the lanes, do the operations one after another: one at a time, each when the one before hands over.
 * So the model needs no locks, and the same records always do the same. */
#ifndef MODEL_H
#define MODEL_H

#include "failure.h"
#include "gone.h"
#include "objects.h"
#include "operation.h"
#include "settings.h"

enum { LANES = 3, EPOCHS = 32, INSTANCES = 3, DEPTH = 10, OLD = 32, NOBODY = LANES };

/* An epoch. A place of the table is used again when its epoch is gone. */
struct model {
    tslab_epoch epoch; /* {0}: the place is free */
    struct tslab_epoch_options options;
    char label[48];
    enum tslab_epoch_state state;
    bool root;       /* of an instance: not closed by itself */
    bool of_work;    /* opened by a unit of work, which closes it, unless somebody did so by hand */
    unsigned closer; /* the lane that closed it, while somebody is inside */
    uint32_t inside[LANES];
    uint64_t objects, bytes;
    uint64_t with_handles; /* of the objects */
    uint64_t opened_ms, closed_ms;
};

struct lane {
    struct model *scopes[DEPTH]; /* the innermost last */
    size_t depth;
    unsigned paused;
    struct {
        unsigned depth;
        struct model *epoch; /* NULL: none yet */
        size_t scopes;       /* that the lane was inside of when the outermost unit began */
        uint64_t units, rotations, opened_ms;
    } work;
};

struct world {
    struct model models[EPOCHS];
    struct lane lanes[LANES];
    unsigned here; /* the lane that runs; NOBODY: the thread that watches over the lanes */
    tslab_instance instances[INSTANCES];
    size_t objects_most, bytes_most;
    enum work_mode mode;
    uint64_t mode_number, rotations;
    bool small_arena;
    bool may_refuse;      /* memory is short */
    struct model *handed; /* what the lane that is next is to enter; NULL: nothing */
    int lands;            /* what entering an epoch answers that takes plain malloc */
    /* Values that were right once. */
    tslab_epoch old_epochs[OLD];
    struct {
        tslab_epoch epoch;
        tslab_handle handle;
    } old_handles[OLD];
    tslab_instance old_instance;
    unsigned old_at;
};
extern struct world world;

/* The lane that runs; never from the thread that watches. */
static inline struct lane *here(void)
{
    return &world.lanes[world.here];
}

static inline tslab_epoch value_of(const struct model *model)
{
    return model == NULL ? no_epoch : model->epoch;
}

/* Hides a number from the compiler, which would warn of an absurd one, or answer for the library. */
static inline size_t unseen(size_t value)
{
    __asm__ volatile("" : "+r"(value));
    return value;
}

/* The time, as the library sees it. */
uint64_t world_now_ms(void);

/* Epochs. */
struct model *model_of(tslab_epoch epoch);
struct model *model_free_place(void);
struct model *model_some(unsigned place); /* NULL: there is none */
uint32_t model_inside(const struct model *model);
bool model_is_doomed(const struct model *model);
bool model_takes_plain(const struct model *model);

/* Counts an object of the model, or of the process (NULL), in or out. */
void model_count(struct model *owner, const struct object *object, bool more);

/* An object of it is no more: it may have been the last of a draining epoch. */
void model_check_drained(struct model *model);

/* Where plain malloc has put p, which is right; NULL: the process. */
struct model *model_landed(const void *p);

/* Whether an allocation that names it must be granted, must be refused, or may be either. */
enum grant { REFUSED, GRANTED, EITHER };
enum grant model_grants(const struct model *model);

/* An epoch, and everything in the model, against what the library says. */
void model_check_one(const struct operation *operation);
void models_check(void);

/* Operations. */
void epoch_open_one(const struct operation *operation);
void epoch_enter_one(const struct operation *operation);
void epoch_leave_one(const struct operation *operation);
struct model *epoch_leave_to_hand_over(void); /* what was left; NULL: nothing */
void epoch_enter_handed(void);
void epoch_close_one(const struct operation *operation);
void epoch_release_one(const struct operation *operation);
void epoch_advance_one(const struct operation *operation);
void by_hand_one(const struct operation *operation);
void instance_open_one(unsigned i);
void instance_close_one(const struct operation *operation);
void unit_begin(const struct operation *operation);
void unit_end(const struct operation *operation);
void unit_pause(const struct operation *operation);
void unit_resume(const struct operation *operation);
void units_rotate(const struct operation *operation);

void allocate_plain(const struct operation *operation);
void allocate_by_libc(const struct operation *operation);
void allocate_in_epoch(const struct operation *operation);
void allocate_with_handle(const struct operation *operation);
void allocate_many(const struct operation *operation);
void grow_old(const struct operation *operation);
void free_one(const struct operation *operation);
void free_many(const struct operation *operation);
void resize_one(const struct operation *operation);
void look_at_one(const struct operation *operation);

void report_one(const struct operation *operation);
void misuse_one(const struct operation *operation);
void shorten_one(const struct operation *operation);

/* Where forks work, and this is no child of one. Seldom with many objects, for the more memory, the more it costs. */
bool fork_is_worth_it(const struct operation *operation);

/* Whether memory is short; and, for what the rig itself needs, that it is not, for a while. */
bool shortage_lasts(void);
void shortage_waits(bool waits);
void shortage_ends(void);

void try_stale(const struct operation *operation);
void try_invalid(const struct operation *operation);

/* The thread of a lane is about to end; and it has ended: it left all its scopes, and its unit's epoch is closed. */
void lane_before_end(unsigned lane);
void lane_after_end(unsigned lane);

/* The same of all lanes but the one that runs, in the child of a fork, which does not have their threads. */
void lanes_vanish(void);

/* Ends everything, by hand: scopes and units of the lane that runs, epochs, objects, instances. */
void everything_ends(void);

#endif
