/* A heap: for every size class a magazine, a stock of full magazines, and an attached slab.
 *
 * Held by at most one thread at a time, which alone writes it. Reports of other threads read counts at any time: the
 * words that hold them are atomic, or owned (atomic.h). What they find is exact while the holder is at rest. The fast
 * path (fast.h) touches only the magazines; everything here is what happens when they are empty or full:
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

#include "core/gate.h"
#include "core/hot.h"
#include "core/magazine.h"
#include "core/partial.h"
#include "core/stock.h"

struct hold;
struct thread;

/* What the holder counts at slow paths. All other counts follow from these and from what the heap has. */
struct class_counters {
    atomic_u64 refills;         /* times that slots were linked from a slab */
    atomic_u64 refilled;        /* slots linked */
    atomic_u64 flushes;         /* times that a magazine was given back to slabs */
    atomic_u64 flushed;         /* slots given back so */
    atomic_u64 stocked;         /* full magazines handed to the stock */
    atomic_u64 bypassed_allocs; /* slots that went straight from slab to caller */
    atomic_u64 bypassed_frees;  /* slots that went straight from caller to slab, since magazines are turned off */
    atomic_u64 remote_frees;    /* the same, since the slot is not ours to keep */
    atomic_u64 opened;          /* new slabs */
    atomic_u64 attached;        /* partial slabs taken over */
};

/* The sums for one class over heaps, and what the lists of partial slabs count (partial.h). */
struct class_sums {
    uint64_t allocs, frees; /* all ways */
    uint64_t cached;        /* slots in magazines, stocks and claimed words */
    uint64_t refills, refilled, flushes, flushed, stocked, bypassed_allocs, bypassed_frees, remote_frees;
    uint64_t opened, attached, recycled, harvests, harvested, queue_longest;
};

struct heap_class {
    struct run *slab;         /* attached, or NULL */
    atomic_u64 claimed;       /* slots taken from one word of its bitmap and not handed out yet */
    char *claimed_start;      /* where that word's first slot is */
    struct stock_class stock; /* full magazines */
    atomic_u32 retired_slots; /* linked in `retired`, */
    atomic_u16 capacity;      /* of the magazine */
    uint16_t batch;           /* slots of the next refill */
    bool bypass_alloc;
    void *retired;          /* slots that are handed out no more while the heap has them (heap_retire) */
    atomic_u64 moved;       /* slots that slow paths took out of the magazine, less those that they put in */
    uint64_t window_allocs; /* what the counters were when the current window began */
    uint64_t window_refilled;
    uint64_t idle_allocs; /* what the counters were at the last tick */
    uint64_t idle_frees;
    struct class_counters counters;
};

/* What the fast path (fast.h) sees of a heap. A thread-local pointer names the front that plain malloc goes to. A
 * thread whose plain malloc fills an epoch's chunk has a front of its own for that, without a heap behind it. */
struct front {
    _Alignas(CACHE_LINE) struct magazine magazine[CLASS_LIMIT];
    struct thread *thread;  /* the record of the thread that plain malloc is served for; NULL: none yet, or no more */
    struct hold *innermost; /* of the scope that the thread entered last; hold_none: it is inside of nothing */
    struct hold *filling;   /* whose chunk plain malloc fills when the magazines do not serve; hold_none: no chunk */
    struct heap *heap;      /* the heap that this is the front of; heap_none: none */
};

struct heap {
    struct front front;
    struct gate *gate;        /* of the thread that holds the heap */
    struct heap *prev, *next; /* of the heaps of epochs that are in use (heaps.h) */
    bool enlisted;
    struct epoch *epoch;
    uint32_t affinity;
    uint32_t operations; /* slow ones */
    uint64_t tick_ms;    /* when idle classes were last looked for */
    struct stock stock;
    struct hot_runs hot;
    struct heap_class class[CLASS_LIMIT];
};

_Static_assert(sizeof(struct magazine) == 1 << CLASS_SCALE, "scaled classes are places of magazines");

extern _Thread_local struct front *front_current;

/* The front of a thread that has no heap yet, and of one whose heap was taken down: no magazine has a slot, none
 * accepts one. */
extern struct front front_none;
extern struct front front_gone;

/* The heap behind a front that has none: it caches nothing, and nothing is put into it. */
extern struct heap heap_none;

/* Whether plain malloc is served by heaps: the drop-in says so when it starts. */
extern bool heap_serves_malloc;

/* The magazine of a scaled class. Compilers must not mix the two parts of the address with those of its fields. */
always_inline struct magazine *front_magazine(struct front *front, size_t class_scaled)
{
    struct magazine *m = (struct magazine *)((char *)front->magazine + class_scaled);
    __asm__("" : "+r"(m));
    return m;
}

/* Adds the counts of one heap. Any thread, at any time: what the holder does meanwhile may be counted or not. */
void heap_add(const struct heap *heap, unsigned class, struct class_sums *sums);

/* Makes a heap for an epoch; NULL: no memory. In the gate. */
struct heap *heap_make(struct epoch *epoch);

/* An affinity that no other heap has. */
uint32_t heap_next_affinity(void);

/* Sets the tags of an empty heap to those of its epoch's present life. */
void heap_retag(struct heap *heap);

/* Makes a heap of zeroed memory usable. */
void heap_start(struct heap *heap, struct thread *thread, struct gate *gate, struct epoch *epoch, uint32_t affinity);

/* A slot of the class, when the magazine is empty. NULL: no memory. Enters the gate. */
void *heap_alloc_slow(struct heap *heap, unsigned class);

/* The lowest claimed slot, of which there is one, straight to the caller. */
always_inline void *heap_hand_out(struct heap *heap, unsigned class)
{
    struct heap_class *hc = &heap->class[class];
    const uint64_t claimed = load_plain(&hc->claimed);
    char *const p = hc->claimed_start + (size_t)bit_lowest(claimed) * class_geometry[class].size;
    store_plain(&hc->claimed, claimed & (claimed - 1));
    counter_add(&hc->counters.bypassed_allocs, 1);
    return p;
}

/* A slot of the class where magazines do not help; NULL when this is not so, or the claimed slots run out. Only private
 * state moves, so no gate is needed. */
always_inline void *heap_alloc_claimed(struct heap *heap, unsigned class)
{
    struct heap_class *hc = &heap->class[class];
    const uint64_t claimed = load_plain(&hc->claimed);
    if (!hc->bypass_alloc || (claimed & (claimed - 1)) == 0 || counter_get(&hc->stock.slots) != 0) {
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

/* Slots in the magazine of a class. The holder. */
unsigned heap_magazine_slots(const struct heap *heap, unsigned class);

/* Begins to count anew, with an empty heap. */
void heap_forget_counts(struct heap *heap, unsigned class);

/* Gives back everything that the heap caches but for retired slots, and detaches its slabs. In the gate. */
void heap_empty(struct heap *heap);

/* Slots in magazine, stock and claimed word. Any thread, as heap_add. */
uint64_t heap_cached(const struct heap *heap, unsigned class);

#endif
