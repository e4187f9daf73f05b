/* A heap: for every size class a magazine, an outbox, and an attached slab.
 *
 * At most one thread at a time holds a heap, and it alone writes the heap, but for the keeper while the holder rests
 * (idle.h). Reports read counts at any time: the words that hold them are atomic, or owned (atomic.h). A report is
 * exact while the holder is at rest. The fast path (fast.h) touches only the magazines. Everything else happens when a
 * magazine is empty (refill.h) or full, or does not accept a slot (overflow.h):
 *
 *   alloc, empty magazine   take a full tray from the exchange; else a batch of slots from the attached slab's claimed
 *                           word; else attach a partial slab; else open a new one
 *   free, full magazine     make it longer while it is short; else hand its tray over to the exchange; else flush it to
 *                           the slabs
 *
 * Beside the magazine a heap keeps one tray more of a class, full or empty, so that a program that allocates and frees
 * in turns does not go to the exchange each time (Bonwick's "previous" magazine). Slots that no other heap may adopt
 * are not exchanged.
 *
 *   free, other affinity    put the slot into the outbox, which is flushed when it is full; slots of other epochs go
 *                           straight to their slabs
 *
 * Invariants: the tag of a magazine changes only while the heap is empty. Slots in magazine, kept tray, outbox,
 * exchange and claimed word are in no bitmap. Only an attached slab has claimed slots. The heap of a hold that is TAKEN
 * is empty.
 *
 * Threads: the holder. Each function says whether it runs in the gate or enters it. */
#ifndef TSLAB_THREAD_HEAP_H
#define TSLAB_THREAD_HEAP_H

#include "base/build.h"
#include "common/figures.h"
#include "os/fatal.h"
#include "os/os.h"
#include "slab/hot_runs.h"
#include "slab/partial_list.h"
#include "thread/gate.h"
#include "thread/magazine.h"
#include "thread/tray.h"

struct hold;
struct thread;

/* Counted by the holder on slow paths. All other counts follow from these and from the slots of the heap. */
struct class_counters {
    atomic_u64 refills;         /* times that a batch of slots was taken from a slab */
    atomic_u64 refilled;        /* slots in these batches */
    atomic_u64 flushes;         /* times that slots of a magazine or an outbox were given back to slabs */
    atomic_u64 flushed;         /* slots given back by flushes */
    atomic_u64 exchanged;       /* full trays handed to the exchange */
    atomic_u64 bypassed_allocs; /* slots that went straight from slab to caller: magazines are turned off */
    atomic_u64 bypassed_frees;  /* slots that went straight from caller to slab: magazines are turned off */
    atomic_u64 remote_frees;    /* slots that went to the outbox or to their slab: this heap may not keep them */
    atomic_u64 opened;          /* new slabs */
    atomic_u64 attached;        /* partial slabs taken over */
    atomic_u64 from_exchange;   /* full trays taken from the exchange */
};

/* The slots of one class that heaps have, by place, and how many of their bytes have no pages, because they were never
 * handed out. Claimed slots may have none either: the slab knows (pages.h). */
struct class_held {
    uint64_t magazine, outbox, claimed; /* a kept tray's are in `magazine` */
    uint64_t magazine_untouched;
};

/* The sums for one class over heaps, and the counts of its lists of partial slabs (partial_list.h). */
struct class_sums {
    CLASS_COUNTS(FIGURE_MEMBER)
    uint64_t cached;   /* slots in magazines, outboxes, the exchange and claimed words */
    uint64_t bypassed; /* slots that went straight from slab to caller or back */
};

/* The operations of a class that its magazines alone did not serve. */
static inline uint64_t class_sums_misses(const struct class_sums *sums)
{
    return sums->refills + sums->from_exchange + sums->flushes + sums->exchanged + sums->bypassed;
}

/* The tray that a magazine starts with lies in the heap, and never leaves it. */
struct first_tray {
    struct tray tray;
    void *places[1 + TRAY_FIRST];
};

struct heap_class {
    struct run *slab;         /* attached, or NULL */
    atomic_u64 claimed;       /* slots taken from one word of the slab's bitmap and not handed out yet */
    char *claimed_start;      /* the address of that word's first slot */
    bool claimed_fresh;       /* the slots of that word were never handed out, and read as zero */
    uint16_t refill_quarters; /* size of the next refill in quarters of a slot; 0: it is the first one */
    struct tray *kept;        /* a tray beside the magazine's, full or empty; NULL: none */
    atomic_u32 kept_slots;    /* how many slots it has */
    void **outbox;            /* the places of a tray for slots of other heaps' affinity; NULL: none */
    atomic_u32 outbox_slots;  /* how many slots it has */
    uint32_t outbox_limit;    /* how many it takes */
    uint64_t fresh;           /* see heap_is_fresh. Owned */
    uint64_t handed_out;      /* slots that the magazine had handed out when its count was placed last. Owned */
    uint32_t changes;         /* samples.changes at that time (sampling.h) */
    bool ends_in_sample;      /* the object at the end of the count is sampled */
    uint32_t bar;             /* the place of a bar, above 0 (idle.h); 0: none */
    uint32_t taken_below;     /* slots that the keeper took: the places begin so far behind the start of the tray */
    void *barred;             /* the slot that was in the bar's place */
    atomic_u64 slots_removed; /* slots that slow paths took out of the magazine, less those that they put in */
    uint64_t idle_operations; /* allocations and frees at the last look */
    struct class_counters counters;
    struct first_tray first;
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

/* The fast path looks for a tag there (fast_free). */
_Static_assert(offsetof(struct magazine, tag) + sizeof(struct magazine) / 2 ==
                   sizeof(struct magazine) + offsetof(struct magazine, end),
               "half a magazine from its tag is a pointer");
_Static_assert(offsetof(struct front, innermost) ==
                   CLASS_LIMIT * sizeof(struct magazine) + offsetof(struct magazine, end),
               "and behind the last one, too");

struct heap {
    struct front front;
    struct gate *gate;        /* the gate of the thread that holds the heap, or held it last */
    struct heap *made_before; /* heap of an epoch: the one that was made before it; never changes */
    struct heap *next_idle;   /* heap of an epoch: links those that a thread keeps for its next scopes */
    struct epoch *epoch;
    uint32_t affinity;
    uint32_t operations;         /* the number of slow operations */
    uint32_t operations_seen;    /* that number when idle_look or heap_weight looked last, */
    uint64_t handed_out_seen;    /* and what the magazines had handed out */
    uint64_t busy_ms;            /* when the keeper last saw that the holder does something */
    uint64_t barred_ms;          /* when the keeper put bars into magazines; 0: there are none */
    uint64_t looked_ms;          /* the time of the last look */
    size_t fetched_bytes;        /* taken from slabs of the process since the last count (heap_count_out), */
    ptrdiff_t out_bytes;         /* and less what went back */
    size_t limit_bytes;          /* of all magazines and outboxes: what counts in the budget of all caches */
    size_t weight;               /* what it cached when heap_weight looked */
    uint64_t paid_units;         /* depot.fresh_units when the heap gave back for growth last */
    atomic_u64 resting_since_ms; /* since when the heap rests (resting.h); 0: a thread has it, or it is empty */
    atomic_size_t resting_bytes; /* what it cached then */
    struct hot_runs hot;
    uint64_t random;        /* the state of the generator for distances between samples (sampling.h); 0: not begun */
    uint64_t large_left;    /* bytes of large blocks before the next sample */
    uint32_t large_changes; /* samples.changes when that was drawn */
    bool is_short;          /* since the last look a class could not have what it asked of the budget */
    bool is_idle;           /* it counts in heap_idle_count */
    bool is_spare;          /* the keeper has taken what it can */
    atomic_u8 class_index[CLASS_LIMIT];     /* the index of each class in `classes`, from 1 on; 0: it is not used yet */
    struct heap_class classes[CLASS_LIMIT]; /* in the order of first use, so a thread touches only pages that it uses.
                                               Number 0 is never written: it stands for classes not used yet */
};

_Static_assert(CLASS_LIMIT <= UINT8_MAX, "indices fit");

#define heap_class_of(heap, which) (&(heap)->classes[load_plain(&(heap)->class_index[which])])

_Static_assert(sizeof(struct magazine) == 1 << CLASS_SCALE, "scaled classes are places of magazines");

extern per_thread struct front *front_current;

/* The fronts of threads without a heap: front_none before a thread has one, front_gone after its end. Their magazines
 * have no slots and accept none. */
extern struct front front_none;
extern struct front front_late;
extern struct front front_gone;

/* The heap behind a front that has none. It is always empty. */
extern struct heap heap_none;

/* The threads that have a heap, without the holder of the last record, written under the registry's lock; and how many
 * of them did nothing lately, as far as a keeper has seen. */
extern atomic_u32 heap_live_count, heap_idle_count;

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

/* The slots that the magazine of a class has handed out. Any thread, as with heap_add. */
static inline uint64_t heap_handed_out(const struct heap *heap, unsigned class)
{
    const uint64_t before = owned_get(&heap_class_of(heap, class)->handed_out);
    const uint32_t handed_out = magazine_handed_out(owned_get(&heap->front.magazine[class].counts));
    return before + (uint32_t)(handed_out - (uint32_t)before);
}

/* Whether all slots in the magazine of a class were never handed out since their pages came from the system, and so
 * read as zero. A pop leaves the sum of slots and slots handed out as it is, and a push raises it: so the sum tells
 * whether a slot came in by a free. */
always_inline bool heap_is_fresh(const struct heap *heap, unsigned class)
{
    const struct magazine *const m = &heap->front.magazine[class];
    const uint64_t handed_out = heap_handed_out(heap, class);
    if (handed_out == 0) {
        return false;
    }
    const uint64_t sum = handed_out + magazine_slots(m); /* a lower limit is read before what was written before it */
    return sum == owned_get(&heap_class_of(heap, class)->fresh);
}

/* Whether the heap ever had or counted anything of the class. If not, its record reads as zero. Any thread. */
static inline bool heap_uses(const struct heap *heap, unsigned class)
{
    return load_plain(&heap->class_index[class]) != 0;
}

/* How many classes the heap uses. The holder. */
unsigned heap_used(const struct heap *heap);

void heap_use_first(struct heap *heap, unsigned class);

/* Begins to use a class, before anything of it is read or counted. In the gate, or where no other thread has the heap.
 */
static inline void heap_use(struct heap *heap, unsigned class)
{
    if (unlikely(!heap_uses(heap, class))) {
        heap_use_first(heap, class);
    }
}

/* Adds the counts of one heap to *sums. Any thread, at any time: what the holder does meanwhile may be counted or not.
 */
void heap_add(const struct heap *heap, unsigned class, struct class_sums *sums);

/* The heap of an epoch that was made last. All that were ever made follow by made_before, also those that are not in
 * use and so empty. They are never unmapped, so that a walk over them needs no lock. */
extern _Atomic(struct heap *) heap_made;

/* Adds the slots of a class that one heap has to *held. Any thread, as with heap_add. */
void heap_add_held(const struct heap *heap, unsigned class, struct class_held *held);

/* Makes a heap for an epoch. NULL: no memory. In the gate. */
struct heap *heap_make(struct epoch *epoch, uint32_t affinity);

/* An affinity that no other heap has. */
uint32_t heap_next_affinity(void);

/* Sets the tags of an empty heap to those of its affinity, and of the present life of its epoch's record. */
void heap_retag(struct heap *heap);

/* Makes a front usable in zeroed memory: its magazines have no trays. */
void front_start(struct front *front);

/* Makes a heap usable in zeroed memory. */
void heap_start(struct heap *heap, struct thread *thread, struct gate *gate, struct epoch *epoch, uint32_t affinity);

/* Makes the magazine of a class hold up to `slots`, if there is memory and budget, in a tray of the pool unless it is
 * as short as the one that lies in the heap. In the gate. */
void heap_lengthen(struct heap *heap, unsigned class, unsigned slots);

/* Gives an empty magazine of a class the slots of another tray, whose count is set. Its own tray is kept for the next
 * one that is handed over, or goes back to the pool. In the gate. */
void heap_load(struct heap *heap, unsigned class, struct tray *tray);

/* Loads the full tray that the heap keeps of a class. False: it keeps none. In the gate. */
bool heap_load_kept(struct heap *heap, unsigned class);

/* Keeps the full tray of a magazine, which goes on with an empty one. None was kept. False: too much waits
 * already. In the gate. */
bool heap_keep(struct heap *heap, unsigned class);

/* The full tray that was kept is another owner's now, and the heap has an empty one for it, or NULL. In the gate. */
void heap_replace_kept(struct heap *heap, unsigned class, struct tray *empty);

/* Gives a magazine of a class whose tray was handed over an empty one, or, for NULL, the one that lies in the heap. In
 * the gate. */
void heap_give_empty(struct heap *heap, unsigned class, struct tray *empty);

/* Gives slots of one array back to their slabs. All are of the process, or of the heap's epoch. In the gate. */
void heap_flush_slots(struct heap *heap, unsigned class, void *const *slots, uint32_t n);

/* Gives back the kept tray of a class. In the gate. */
void heap_flush_kept(struct heap *heap, unsigned class);

/* The limit of a class changes in the budget of all caches. In the gate. */
void heap_change_budget(struct heap *heap, unsigned class, unsigned before, unsigned now);

/* The magazine has other places and slots than before, and not only by pops and pushes. In the gate. */
void heap_set_magazine(struct heap *heap, unsigned class, void **places, unsigned limit, unsigned slots);

/* Gives back what the magazine of a class has. In the gate. */
void heap_flush_magazine(struct heap *heap, unsigned class);

/* Gives a class with an empty outbox a longer one, if there is memory and budget, until it is as long as a magazine may
 * be. In the gate. */
void heap_lengthen_outbox(struct heap *heap, unsigned class);

/* Gives back the outbox of a class. In the gate. */
void heap_flush_outbox(struct heap *heap, unsigned class);

/* Ends the heap's use of the slab that it has attached for a class, and of the slots claimed there. In the gate. */
void heap_detach_slab(struct heap *heap, unsigned class);

/* Counts slots that were taken from a slab, or, below zero, that are about to go back: what is in use knows those of
 * the process (space/free_runs.h), and so does the exchange, both a little late. */
void heap_count_out(struct heap *heap, const struct run *slab, unsigned class, int slots);

/* Counts the heap of a thread that the keeper found idle, until it has a slow operation again or ends. In its gate. */
void heap_set_idle(struct heap *heap, bool idle);

/* Gives back the classes that were not used between two calls. In the gate. */
void heap_empty_unused(struct heap *heap);

/* Gives back everything that the heap caches and detaches its slabs. In a gate: that of the
 * holder, or of a thread that has claimed the hold. */
void heap_empty(struct heap *heap);

/* The bytes that the heap of an epoch caches, or, where it had no slow operation since the last call, cached then.
 * heap_lighten gives back large classes until they are no more than that. In the holder's gate; weight: the holder. */
size_t heap_weight(struct heap *heap);
void heap_lighten(struct heap *heap, size_t bytes);

/* Gives back what belongs to others or is long: outboxes and hot runs. In the holder's gate. */
void heap_rest(struct heap *heap);

/* Whether full trays of the class go to the exchange: any thread may adopt the slots, or there is only one. */
always_inline bool heap_may_exchange(const struct heap *heap, unsigned class)
{
    return heap->epoch == &epoch_process && (!class_geometry[class].shares_lines || !os_has_threads());
}

/* The slots in magazine, kept tray, outbox and claimed word. Any thread, as with heap_add. */
uint64_t heap_cached(const struct heap *heap, unsigned class);

#endif
