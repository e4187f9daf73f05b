/* Samples: what is known of sampled objects, and the call stacks that allocated them.
 *
 * Owns: a record for each sampled object that is taken to live, heads that lead to the record of an address, and a
 * record for each stack with its sums. All of it is memory of the engine's own, and is never given back. There are at
 * most SAMPLES_MOST records and STACKS_MOST stacks. Samples without room are counted.
 *
 * A record of a slot or of a large block lives as long as the object. While sampled objects live in a unit of a slab,
 * its tag says so (TAG_SAMPLED), and all frees there come to the slow path, which ends the record. Large blocks always
 * come there. An epoch that is released ends the records of its runs.
 *
 * The free of an object in a chunk touches nothing here, so its record may outlive it. The codes of the chunk tell, and
 * a number for each of the chunk's lives (samples_life). Such a record ends when another object at its address is
 * sampled, or when dead records are looked for.
 *
 * Invariants: an address has at most one record. A unit of a slab has as many records as its entry counts (struct
 * revisit), and the bit in its tag unless there are none.
 *
 * Threads: samples_may_have by any, without a lock. All else takes the lock, in a gate, so that a fork finds it
 * free. */
#ifndef TSLAB_SLAB_SAMPLES_H
#define TSLAB_SLAB_SAMPLES_H

#include "base/atomic.h"
#include "base/bits.h"
#include "base/limits.h"
#include "os/call_stack.h"

#include <stdbool.h>

/* A sampled object. */
struct sample {
    uint64_t address; /* 0: the record is not in use */
    uint64_t bytes;   /* what it was sampled by: all bytes that it ever had */
    uint64_t period;
    uint64_t epoch; /* its value; 0: the process */
    uint64_t born_ms;
    uint64_t weight; /* how many objects it stands for (random.h) */
    uint32_t stack;  /* its number; 0: there was no room for it */
    uint32_t thread; /* the system's number of the thread that allocated it */
    uint32_t run;    /* of its slot or chunk; 0: it is a large block */
    uint32_t life;   /* of its chunk; 0: it is in none */
    uint32_t class;  /* of its slot; CLASS_NONE: it is none */
    uint32_t next;   /* the next record of a similar address, or the next that is not in use */
};

/* The sums of a stack, estimated. Objects are counted in weights. */
struct stack_sums {
    uint64_t objects, bytes;           /* allocated */
    uint64_t live_objects, live_bytes; /* of these, taken to live */
    uint64_t peak_objects, peak_bytes; /* these at the time when live_bytes of all stacks were the most */
};

struct stack {
    uint64_t hash;
    uint32_t before; /* the stack before it with a similar hash */
    uint32_t depth;
    struct stack_sums sums;
    uintptr_t frames[]; /* from the innermost one on */
};

struct samples {
    atomic_u32 is_on;     /* allocations are sampled */
    atomic_u32 were_on;   /* they are or were, or are about to be */
    atomic_u64 period;    /* the mean number of bytes between two samples */
    atomic_u32 changes;   /* how often the period was set */
    atomic_u64 seed;      /* of the next generator; 0: not chosen yet */
    atomic_u32 lives;     /* of chunks */
    atomic_u32 highest;   /* no record with a higher number was ever in use */
    atomic_u32 stacks;    /* the number of the last stack */
    atomic_u32 live;      /* records in use */
    atomic_u64 lost;      /* samples that found no record */
    atomic_u64 stackless; /* samples that found no stack */
};

extern struct samples samples;

always_inline bool samples_are_on(void)
{
    return unlikely(load_plain(&samples.is_on) != 0);
}

/* Whether a unit may have TAG_SAMPLED. */
always_inline bool samples_were_on(void)
{
    return unlikely(load_plain(&samples.were_on) != 0);
}

/* A number for the next life of a chunk; 0 while allocations are not sampled. */
always_inline uint32_t samples_life(void)
{
    return samples_are_on() ? fetch_add_plain(&samples.lives, 1) + 1 : 0;
}

/* Sees to the tables, once. False: no memory. */
bool samples_start(void);

/* Whether the address may have a record: false is sure, for a thread that is about to free the object. */
bool samples_may_have(uint64_t address);

/* Copies a record with a number up to samples.highest. False: it is not in use. */
bool samples_copy(uint32_t number, struct sample *copy);

/* A stack with a number up to samples.stacks, and a copy of its sums. */
const struct stack *samples_stack(uint32_t number, struct stack_sums *sums);

/* The stack that allocated the object at this address. NULL: it is not known, or another thread has the lock. Never
 * waits, and needs no gate. */
const struct stack *samples_stack_of(uint64_t address);

/* Makes a record, which gets its stack and its weight here, if allocations are sampled still. A record that the address
 * has ends first. False: it has none, for want of room too. */
bool samples_add(const struct sample *sample, const uintptr_t *frames, size_t depth);

/* Notes the peak as of now, for a report. */
void samples_note_peak(void);

/* Whether the object of this record is gone, as can be only if it was in a chunk. */
bool samples_is_dead(const struct sample *sample);

/* The object at this address grew in its place: its record counts by this many bytes from now on. False: it has none.
 */
bool samples_grow(uint64_t address, uint64_t bytes);

/* Ends the record of this address, if there is one, and tells tracers of the free of the object, if they were told of
 * its allocation. They are not where the object is in a chunk, whose frees are not seen. */
void samples_end(uint64_t address);

/* Ends the records of all objects in a run, which is released with its epoch and still has its tags. */
void samples_end_run(uint32_t first);

/* Ends all records. The stacks and what they allocated stay. */
void samples_end_all(void);

#endif
