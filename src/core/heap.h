/* A heap: for every size class a magazine, a stock of full magazines, and an attached slab.
 *
 * Held by at most one thread at a time, which alone touches it: nothing in it is shared but the published counters. The
 * fast path (fast.h) touches only the magazines; everything here is what happens when they are empty or full:
 *
 *   alloc, empty magazine   take a full one from the stock; else link a batch of slots from the attached slab's claimed
 *                           word; else attach a partial slab; else open a new one
 *   free, full magazine     grow it while it is small; else hand it over whole to the stock; else flush it to its slabs
 *   bypass                  when a window of allocations shows that the magazine does not help, slots go straight from
 *                           the claimed word to the caller, and nothing is linked
 *
 * Invariants: the tag of a magazine never changes; room = capacity - slots in it; slots in magazine, stock and claimed
 * word are in no bitmap; a heap that is held by nobody is empty.
 *
 * Threads: the holder. Every function but heap_start runs in the holder's gate or enters it itself, as it says. */
#ifndef TSLAB_CORE_HEAP_H
#define TSLAB_CORE_HEAP_H

#include "core/depot.h"
#include "core/magazine.h"
#include "core/partial.h"

struct hold;
struct thread;

/* What reports may read of a heap while its holder goes on: written by the holder alone, at slow paths. */
struct class_counters {
    atomic_u64 allocs;          /* allocations, all ways */
    atomic_u64 frees;           /* frees that came through this heap, all ways */
    atomic_u64 refills;         /* times that slots were linked from a slab */
    atomic_u64 refilled;        /* slots linked */
    atomic_u64 flushes;         /* times that a magazine was given back to slabs */
    atomic_u64 flushed;         /* slots given back so */
    atomic_u64 stocked;         /* full magazines handed to the stock */
    atomic_u64 unstocked;       /* taken from it */
    atomic_u64 bypassed_allocs; /* slots that went straight from slab to caller */
    atomic_u64 bypassed_frees;  /* slots that went straight from caller to slab, since magazines are turned off */
    atomic_u64 remote_frees;    /* the same, since the slot is not ours to keep */
    atomic_u64 opened;          /* new slabs */
    atomic_u64 attached;        /* partial slabs taken over */
    atomic_u64 cached;          /* slots in magazine, stock and claimed word */
};

struct heap_class {
    struct slab *slab;      /* attached, or NULL */
    uint64_t claimed;       /* slots taken from one word of its bitmap and not handed out yet */
    char *claimed_start;    /* where that word's first slot is */
    uint64_t stock;         /* full magazines: chains of slots, linked (chain_pack) */
    uint32_t stock_slots;   /* slots in them */
    uint32_t retired_slots; /* linked in `retired`, */
    uint16_t capacity;      /* of the magazine */
    uint16_t batch;         /* slots of the next refill */
    bool bypass_alloc;
    void *retired;          /* slots that are handed out no more while the heap has them (heap_retire) */
    uint64_t flushed_at;    /* the heap's flushed_bytes at the last flush; 0: none since the last refill */
    uint64_t moved_in;      /* slots that slow paths put into the magazine, since ever */
    uint64_t moved_out;     /* and took out of it */
    uint64_t window_allocs; /* what the counters were when the current window began */
    uint64_t window_refilled;
    uint64_t idle_allocs; /* what the counters were at the last tick */
    uint64_t idle_frees;
    struct class_counters counters;
};

struct heap {
    struct magazine magazine[CLASS_LIMIT];
    struct thread *thread; /* the holder's record; NULL in the two static heaps */
    struct hold *inside;   /* while plain malloc lands here: what the thread entered last; hold_none: nothing */
    struct hold *hold;     /* of a thread's scope heap: whose chunk plain malloc fills; else hold_none */
    struct heap *next;     /* of all heaps of epochs that were ever made */
    struct epoch *epoch;
    uint32_t affinity;
    uint32_t operations; /* slow ones */
    uint64_t tick_ms;    /* when idle classes were last looked for */
    size_t stock_bytes;
    size_t stock_peak; /* the most that was in it since the last tick */
    size_t stock_budget;
    uint64_t flushed_bytes; /* by magazines that found no room in the stock, since ever */
    struct hot_runs hot;
    struct heap_class class[CLASS_LIMIT];
};

_Static_assert(sizeof(struct magazine) == 1 << CLASS_SCALE, "scaled classes are places of magazines");

/* The magazine of a scaled class. Compilers must not mix the two parts of the address with those of its fields. */
always_inline struct magazine *heap_magazine(struct heap *heap, size_t class_scaled)
{
    struct magazine *m = (struct magazine *)((char *)heap->magazine + class_scaled);
    __asm__("" : "+r"(m));
    return m;
}

/* The heap of a thread that has none yet, and of one whose heap was taken down: no magazine has a slot, none accepts
 * one. */
extern struct heap heap_none;
extern struct heap heap_gone;

/* All heaps of epochs: for reports. */
extern _Atomic(struct heap *) heaps_of_epochs;

/* Makes a heap for an epoch; NULL: no memory. In the gate. */
struct heap *heap_make(struct epoch *epoch);

/* An affinity that no other heap has. */
uint32_t heap_next_affinity(void);

/* Sets the tags of an empty heap to those of its epoch's present life. */
void heap_retag(struct heap *heap);

/* Makes a heap of zeroed memory usable. */
void heap_start(struct heap *heap, struct thread *thread, struct epoch *epoch, uint32_t affinity);

/* A slot of the class, when the magazine is empty. NULL: no memory. Enters the gate. */
void *heap_alloc_slow(struct heap *heap, unsigned class);

/* The lowest claimed slot, of which there is one, straight to the caller. */
always_inline void *heap_hand_out(struct heap *heap, unsigned class)
{
    struct heap_class *hc = &heap->class[class];
    char *const p = hc->claimed_start + (size_t)bit_lowest(hc->claimed) * class_geometry[class].size;
    hc->claimed &= hc->claimed - 1;
    stat_add(&hc->counters.bypassed_allocs, 1);
    return p;
}

/* A slot of the class where magazines do not help; NULL when this is not so, or the claimed slots run out. Only private
 * state moves, so no gate is needed. */
always_inline void *heap_alloc_claimed(struct heap *heap, unsigned class)
{
    struct heap_class *hc = &heap->class[class];
    const uint64_t rest = hc->claimed & (hc->claimed - 1);
    if (!hc->bypass_alloc || rest == 0 || hc->stock_slots != 0) {
        return NULL;
    }
    return heap_hand_out(heap, class);
}

/* Frees a slot whose magazine would take it, but has no room. Enters the gate. */
void heap_free_full(struct heap *heap, unsigned class, void *p);

/* Frees a slot straight to its slab: for slots that no magazine of this heap takes. Enters the gate where it must. */
void heap_free_direct(struct heap *heap, unsigned class, void *p);

/* Puts a slot aside that was just allocated, and cannot be used: it is cached here until heap_unretire. */
void heap_retire(struct heap *heap, unsigned class, void *p);

/* Gives back what was put aside. In the gate. */
void heap_unretire(struct heap *heap);

/* Counts the magazines anew, for the child of a fork: their holder may have been cut between two writes. */
void heap_recount(struct heap *heap);

/* Gives back everything that the heap caches but for retired slots, and detaches its slabs. In the gate. */
void heap_empty(struct heap *heap);

/* Brings the published counters up to date. The holder. */
void heap_publish(struct heap *heap);

#endif
