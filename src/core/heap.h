/* A heap: for every size class a magazine, a stock of full magazines, and an attached slab.
 *
 * At most one thread at a time holds a heap, and it alone writes the heap. Other threads' reports read counts at any
 * time: the words that hold them are atomic, or owned (atomic.h). A report is exact while the holder is at rest. The
 * fast path (fast.h) touches only the magazines. Everything here happens when a magazine is empty or full:
 *
 *   alloc, empty magazine   take a full one from the stock; else link a batch of slots from the attached slab's claimed
 *                           word; else attach a partial slab; else open a new one
 *   free, full magazine     grow it while it is small; else hand it over whole to the stock; else flush it to its slabs
 *   bypass                  when a window of allocations shows that the magazine does not help, slots go straight from
 *                           the claimed word to the caller, and nothing is linked
 *
 * Invariants: the tag of a magazine changes only while the heap is empty; room = capacity - slots in the magazine;
 * slots in magazine, stock and claimed word are in no bitmap; only an attached slab has claimed slots; a heap that
 * leaves the list of heaps of epochs is empty.
 *
 * Threads: the holder. Each function says whether it runs in the gate or enters it. */
#ifndef TSLAB_CORE_HEAP_H
#define TSLAB_CORE_HEAP_H

#include "core/gate.h"
#include "core/hot.h"
#include "core/magazine.h"
#include "core/partial.h"
#include "core/stock.h"
#include "os/fatal.h"

struct hold;
struct thread;

/* What the holder counts on slow paths. All other counts follow from these and from what the heap has. */
struct class_counters {
    atomic_u64 refills;         /* times that slots were linked from a slab */
    atomic_u64 refilled;        /* slots linked */
    atomic_u64 flushes;         /* times that a magazine or a chain of the stock was given back to slabs */
    atomic_u64 flushed;         /* slots given back by flushes */
    atomic_u64 stocked;         /* full magazines handed to the stock */
    atomic_u64 bypassed_allocs; /* slots that went straight from slab to caller */
    atomic_u64 bypassed_frees;  /* slots that went straight from caller to slab because magazines are turned off */
    atomic_u64 remote_frees;    /* slots that went straight to their slab because this heap may not keep them */
    atomic_u64 opened;          /* new slabs */
    atomic_u64 attached;        /* partial slabs taken over */
};

/* The sums for one class over heaps, and the counts of its lists of partial slabs (partial.h). */
struct class_sums {
    uint64_t allocs, frees; /* by all ways */
    uint64_t cached;        /* slots in magazines, stocks and claimed words */
    uint64_t refills, refilled, flushes, flushed, stocked, bypassed_allocs, bypassed_frees, remote_frees;
    uint64_t opened, attached, recycled, harvests, harvested, queue_longest;
};

struct heap_class {
    struct run *slab;         /* attached, or NULL */
    atomic_u64 claimed;       /* slots taken from one word of the slab's bitmap and not handed out yet */
    char *claimed_start;      /* the address of that word's first slot */
    struct stock_class stock; /* full magazines */
    atomic_u32 retired_slots; /* the number of slots in `retired` */
    atomic_u16 capacity;      /* slots that the magazine may hold */
    uint16_t batch;           /* slots of the next refill */
    bool bypass_alloc;
    void *retired;            /* a list of slots that are not handed out again while the heap has them (heap_retire) */
    atomic_u64 moved;         /* slots that slow paths took out of the magazine, less those that they put in */
    uint64_t window_allocs;   /* allocations when the current window began */
    uint64_t window_refilled; /* misses when the current window began */
    uint64_t idle_allocs;     /* allocations at the last tick */
    uint64_t idle_frees;      /* frees at the last tick */
    struct class_counters counters;
};

/* The part of a heap that the fast path (fast.h) sees. A thread-local pointer names the front that plain malloc goes
 * to. Each thread has one more front, without a heap behind it, for the time that its plain malloc fills an epoch's
 * chunk. */
struct front {
    _Alignas(CACHE_LINE) struct magazine magazine[CLASS_LIMIT];
    struct thread *thread;  /* the record of the thread that is served; NULL: it has none yet, or none any more */
    struct hold *innermost; /* the hold of the innermost scope; hold_none: the thread is inside of nothing */
    struct hold *filling;   /* plain malloc fills its chunk when the magazines do not serve; hold_none: no chunk */
    struct heap *heap;      /* the heap behind this front; heap_none: there is none */
};

struct heap {
    struct front front;
    struct gate *gate;        /* the gate of the thread that holds the heap, or held it last */
    struct heap *prev, *next; /* in the list of the heaps of epochs (heaps.h) */
    bool enlisted;            /* the heap is in that list */
    struct epoch *epoch;
    uint32_t affinity;
    uint32_t operations; /* the number of slow operations */
    uint64_t tick_ms;    /* the time of the last tick */
    struct stock stock;
    struct hot_runs hot;
    struct heap_class class[CLASS_LIMIT];
};

_Static_assert(sizeof(struct magazine) == 1 << CLASS_SCALE, "scaled classes are places of magazines");

extern _Thread_local struct front *front_current;

/* The fronts of threads without a heap: front_none before a thread has one, front_gone after its end. Their magazines
 * have no slots and accept none. */
extern struct front front_none;
extern struct front front_gone;

/* The heap behind a front that has none. It is always empty. */
extern struct heap heap_none;

/* Whether this library serves the program's plain malloc. The drop-in sets it when it starts. */
extern bool heap_serves_malloc;

/* The magazine of a scaled class. The asm keeps compilers from mixing the parts of its address with those of its
 * fields. */
always_inline struct magazine *front_magazine(struct front *front, size_t class_scaled)
{
    struct magazine *m = (struct magazine *)((char *)front->magazine + class_scaled);
    __asm__("" : "+r"(m));
    return m;
}

/* Adds the counts of one heap to *sums. Any thread, at any time: what the holder does meanwhile may be counted or not.
 */
void heap_add(const struct heap *heap, unsigned class, struct class_sums *sums);

/* Makes a heap for an epoch. NULL: no memory. In the gate. */
struct heap *heap_make(struct epoch *epoch);

/* An affinity that no other heap has. */
uint32_t heap_next_affinity(void);

/* Sets the tags of an empty heap to those of the present life of its epoch's record. */
void heap_retag(struct heap *heap);

/* Makes a heap usable in zeroed memory. */
void heap_start(struct heap *heap, struct thread *thread, struct gate *gate, struct epoch *epoch, uint32_t affinity);

/* Allocates a slot of a class whose magazine is empty. NULL: no memory. Enters the gate. */
void *heap_alloc_slow(struct heap *heap, unsigned class);

/* Hands the lowest claimed slot straight to the caller. There is one. */
always_inline void *heap_hand_out(struct heap *heap, unsigned class)
{
    struct heap_class *hc = &heap->class[class];
    const uint64_t claimed = load_plain(&hc->claimed);
    invariant(claimed != 0 && hc->slab != NULL);
    char *const p = hc->claimed_start + (size_t)bit_lowest(claimed) * class_geometry[class].size;
    store_plain(&hc->claimed, claimed & (claimed - 1));
    counter_add(&hc->counters.bypassed_allocs, 1);
    return p;
}

/* Allocates a slot of a class that bypasses its magazine. NULL when the class does not, or when the claimed slots run
 * out. Changes private state only, so it needs no gate. */
always_inline void *heap_alloc_claimed(struct heap *heap, unsigned class)
{
    struct heap_class *hc = &heap->class[class];
    const uint64_t claimed = load_plain(&hc->claimed);
    if (!hc->bypass_alloc || (claimed & (claimed - 1)) == 0 || counter_get(&hc->stock.slots) != 0) {
        return NULL;
    }
    return heap_hand_out(heap, class);
}

/* Frees a slot that its magazine accepts but has no room for. Enters the gate. */
void heap_free_full(struct heap *heap, unsigned class, void *p);

/* Frees a slot straight to its slab, for slots that no magazine of this heap takes. Enters the gate if the slab has to
 * be evaluated. */
void heap_free_direct(struct heap *heap, unsigned class, void *p);

/* Puts aside a slot that was just allocated and cannot be used. The heap keeps it until heap_unretire. */
void heap_retire(struct heap *heap, unsigned class, void *p);

/* Gives back the slots that were put aside. In the gate. */
void heap_unretire(struct heap *heap);

/* Recounts the magazines in the child of a fork, which may have cut their holder between two writes. */
void heap_recount(struct heap *heap);

/* The slots in the magazine of a class. The holder. */
unsigned heap_magazine_slots(const struct heap *heap, unsigned class);

/* Sets the counts of a class to zero. The heap is empty. */
void heap_forget_counts(struct heap *heap, unsigned class);

/* Gives back everything that the heap caches except retired slots, and detaches its slabs. In a gate: that of the
 * holder, or of a thread that has claimed the hold. */
void heap_empty(struct heap *heap);

/* The slots in magazine, stock and claimed word, and the retired ones. Any thread, as with heap_add. */
uint64_t heap_cached(const struct heap *heap, unsigned class);

#endif
