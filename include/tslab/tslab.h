/* tslab: a memory allocator for Linux.
 *
 * This header is the manual of the C interface. The functions come in two libraries: libtslab (these functions alone)
 * and libtslab-malloc (these, and malloc, free and all their family for the whole program: the drop-in).
 *
 * All functions may be called from any thread at any time, also in destructors of threads and in the child of a fork
 * (but a destructor that runs after the library's own cannot enter an epoch: TSLAB_NO_MEMORY).
 * None is safe in a signal handler that may have interrupted one of them. None is a cancellation point, or takes more
 * than 4 KiB of stack. Memory that one function of this header returns may be freed by any thread. In a program that
 * runs on libtslab-malloc, tslab_malloc and malloc are the same.
 *
 * Fork. The child has the whole heap, whatever other threads were doing. A fork handler may use all functions of this
 * header. libtslab-malloc registers its own handlers before any other library can (glibc 2.34 or later), so those of
 * others may also wait: for a mutex under which threads allocate, or for a thread to end or to begin. libtslab, or the
 * static library in a plugin, cannot promise that of handlers that were registered before it was there (by libraries
 * that the loader initialised earlier, or by the program that loads the plugin): in a process of several threads these
 * run while the heap is at rest, with all signals held back, may allocate and free, and would wait for ever for
 * statistics, for a thread that allocates, or for one that ends. In a process that has never had a second thread, a
 * signal handler may fork whatever it has interrupted; with several it may wait for ever when it interrupted a function
 * of the library, as with any malloc.
 *
 * No function waits for a reader of stderr while others wait for it: what a report or an option has to say is written
 * when nothing is held.
 *
 * Misuse by pointer (a double free, the free of a pointer that is no object's) ends the program: one line on stderr
 * says what and where, then abort; a handler of SIGABRT may allocate and fork, but not go on with the program. It is
 * seen always in checked builds, and otherwise wherever the design sees it for nothing.
 *
 * Versions: before 1.0 every minor version may change the interface, and has a soname of its own (libtslab.so.0.1,
 * symbol version TSLAB_0.1); a patch changes neither. From 1.0 on the same holds of major versions, and what minor
 * versions add to a struct comes at its end. Every function that takes a struct is told how large the caller's is: the
 * plain name is an inline function of this header, which passes sizeof to the function of the same name with _sized
 * behind it. That is the one that the library exports, for other languages and for dlsym. The library fills in and
 * reads no more than both sides know: what it does not know of a larger struct becomes 0 (and must be 0 in options).
 * Sizes that no version of the struct can have (0, above 4,096, no multiple of 8) are refused with TSLAB_INVALID.
 *
 * Values cannot be taken for each other: statuses are small numbers, flags of closing lie in the bits 0xff00, flags of
 * opening in 0xff0000, policies above, and a value of one kind where another belongs is refused.
 */
#ifndef TSLAB_TSLAB_H
#define TSLAB_TSLAB_H

#include <stddef.h>
#include <stdint.h>

/* The version of this header. The build takes its own from here: it is written nowhere else. */
#define TSLAB_VERSION_MAJOR 0
#define TSLAB_VERSION_MINOR 1
#define TSLAB_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

#ifndef TSLAB_API
#define TSLAB_API __attribute__((visibility("default")))
#endif

/* Each translation unit has these for itself: parts of a program may be compiled with different versions. Also C90 has
 * the word. */
#define TSLAB_INLINE static __inline__

/* At least size bytes, aligned to 16; a size of 0 gives an object of its own as well. NULL with errno ENOMEM when there
 * is no memory. About 20 instructions in the common case. */
TSLAB_API void *tslab_malloc(size_t size) __attribute__((malloc, alloc_size(1)));

/* count * size bytes that read as zero; NULL with ENOMEM also when the product does not fit a size_t. Large memory that
 * is fresh from the system is not touched. */
TSLAB_API void *tslab_calloc(size_t count, size_t size) __attribute__((malloc, alloc_size(1, 2)));

/* Changes the size of an object, in place where that can be, else by moving it; contents are kept up to the smaller
 * size. p NULL: as tslab_malloc. size 0: frees p and returns NULL. NULL with ENOMEM: p is as it was. */
TSLAB_API void *tslab_realloc(void *p, size_t size) __attribute__((alloc_size(2)));

/* At least size bytes at a multiple of alignment, which must be a power of two (else NULL with EINVAL). NULL with
 * ENOMEM when there is no memory. */
TSLAB_API void *tslab_aligned_alloc(size_t alignment, size_t size) __attribute__((malloc, alloc_size(2)));

/* Frees an object that any function of this header returned, but for those that have a handle; NULL is allowed. Keeps
 * errno. Where the program runs on libtslab-malloc, it is the same as free. Elsewhere free belongs to another malloc,
 * which knows nothing of these objects: only tslab_free and tslab_realloc take them. */
TSLAB_API void tslab_free(void *p);

/* The bytes that may be used at p, at least what was asked for; 0 for NULL. */
TSLAB_API size_t tslab_usable_size(const void *p);

/* Gives back to the system, before it returns, the pages of all memory that is empty, and first what the calling thread
 * caches. Other threads' caches are theirs. Returns the bytes given back. Costs a system call for each empty range. */
TSLAB_API size_t tslab_trim(void);

/* Epochs.
 *
 * An epoch is a lifetime: a request, a batch, a frame, a connection. Objects belong to the epoch in which they were
 * allocated, share no memory with those of other epochs, and when the epoch is over, its memory comes back as a whole.
 * Everything that is allocated outside of any epoch belongs to the process, which is over when it exits.
 *
 *   tslab_epoch request = tslab_epoch_open(NULL);
 *   tslab_epoch_enter(request);                    plain malloc of this thread, by any library, lands in it
 *   handle_request();
 *   tslab_epoch_leave(request);
 *   tslab_epoch_close(request, 0, NULL);           what was freed is back already; survivors come back as they die
 *
 * An epoch is named by a value that is checked: one that was closed and is gone, or never was, is refused
 * (TSLAB_STALE), also when its place serves another epoch by now. The value {0} names none.
 *
 * What a function did, or why not. What is below 0 is an error, and has changed nothing. */
enum tslab_status {
    TSLAB_OK = 0,
    TSLAB_EXPLICIT = 1, /* entered; but plain malloc does not land there: only calls that name the epoch do */
    TSLAB_PENDING = 2,  /* closed; but somebody is still inside, and the last to leave completes it */
    TSLAB_STALE = -1,   /* no such epoch, handle or instance (any more) */
    TSLAB_CLOSED = -2,  /* the epoch is closed: nobody can enter it, or allocate in it */
    TSLAB_NOT_INSIDE =
        -3,          /* what is to be ended (a scope, a unit of work, a pause) is not what this thread began last */
    TSLAB_BUSY = -4, /* a thread is inside */
    TSLAB_NO_MEMORY = -5,
    TSLAB_INVALID = -6 /* an argument is out of its range, or of the wrong kind */
};

/* What a status means, in a few words without a full stop. */
TSLAB_API const char *tslab_status_text(enum tslab_status status);

/* Its name: "TSLAB_STALE"; "unknown" for what is none. */
TSLAB_API const char *tslab_status_name(enum tslab_status status);

typedef struct {
    uint64_t id;
} tslab_epoch;

typedef struct {
    uint64_t id;
} tslab_instance;

/* What becomes of the objects that are alive when an epoch is closed: its survivors. */
enum tslab_policy {
    TSLAB_POLICY_DEFAULT = 0, /* in options: TSLAB_POLICY_DRAIN */
    /* They stay valid; their memory comes back as they are freed. The only policy for code that was never asked. */
    TSLAB_POLICY_DRAIN = 0x1000001,
    /* They are dead: all memory comes back without a single free. */
    TSLAB_POLICY_RELEASE = 0x1000002,
    /* As TSLAB_POLICY_DRAIN; and if there are any, a line on stderr says how many, and names some. */
    TSLAB_POLICY_REPORT = 0x1000003,
    /* As TSLAB_POLICY_RELEASE; and later touches of them fault, until 4,096 further runs of memory were trapped (in the
     * checked library, which traps large objects, too, 1,024), or an eighth of what the
     * arena has had in use at most. */
    TSLAB_POLICY_TRAP = 0x1000004
};

/* Flags of tslab_epoch_open. */
enum tslab_open_flag {
    /* With TSLAB_POLICY_RELEASE and TSLAB_POLICY_TRAP, plain malloc does not land in the epoch, only calls that name it
     * do: libc and other libraries allocate for themselves, inside calls that look harmless, and would lose what they
     * keep. This flag says that the program vouches for all that it calls inside. */
    TSLAB_OPEN_VOUCHED = 0x10000
};

/* Flags of the functions that close. */
enum tslab_close_flag {
    /* Gives the pages of all memory that is empty then back to the system, before the function returns. Without it,
     * that is left to the policy of the process (the options purge_delay_ms and retain_bytes). */
    TSLAB_CLOSE_RECLAIM = 0x100
};

/* Sets of flags; 0 is the empty one. In C, compilers warn of a flag or policy of another kind. */
#ifdef __cplusplus
typedef unsigned tslab_open_flags;
typedef unsigned tslab_close_flags;
#else
typedef enum tslab_open_flag tslab_open_flags;
typedef enum tslab_close_flag tslab_close_flags;
#endif

/* All zero is TSLAB_POLICY_DRAIN without a label. */
struct tslab_epoch_options {
    const char *label;       /* for reports; copied, at most 31 bytes; NULL: none */
    tslab_epoch parent;      /* for reports; {0}: none */
    tslab_instance instance; /* that the epoch belongs to and ends with; {0}: the default one */
    enum tslab_policy policy;
    tslab_open_flags flags; /* TSLAB_OPEN_VOUCHED, or 0 */
};

/* Opens an epoch; options NULL: TSLAB_POLICY_DRAIN without a label. {0} with errno ENOMEM when there is no memory for
 * it, EINVAL when an option is out of its range (a policy, a flag or a member that this version does not know), or
 * names an instance or parent that is not there. Where the thread has closed one before, it is a look at the clock and
 * some stores: no lock, and no other atomic operation. Any number may be open, up to some millions. Any thread. */
TSLAB_API tslab_epoch tslab_epoch_open_sized(const struct tslab_epoch_options *options, size_t size);

TSLAB_INLINE tslab_epoch tslab_epoch_open(const struct tslab_epoch_options *options)
{
    return tslab_epoch_open_sized(options, sizeof *options);
}

/* Enters an epoch: until tslab_epoch_leave, plain malloc of this thread lands in it (see TSLAB_OPEN_VOUCHED), and calls
 * that name it are fast. Scopes nest: plain malloc lands in the innermost one that takes it; where that is closed
 * meanwhile, in the process. Several threads may be inside of one epoch at once. TSLAB_EXPLICIT when plain malloc does
 * not land there, because of the epoch's policy or because malloc is not ours (a program that is linked with libtslab
 * alone; tslab_malloc always follows the scope). TSLAB_STALE, TSLAB_CLOSED, TSLAB_NO_MEMORY. One atomic operation; more
 * when several threads are inside. */
TSLAB_API enum tslab_status tslab_epoch_enter(tslab_epoch epoch);

/* Leaves the epoch that this thread entered last, which must be this one (else TSLAB_NOT_INSIDE). It may then be
 * entered on another thread: so an asynchronous task can take its epoch along. A thread that ends leaves all its
 * scopes. One atomic operation; more when it completes a close. */
TSLAB_API enum tslab_status tslab_epoch_leave(tslab_epoch epoch);

/* What closing an epoch has done. */
struct tslab_epoch_report {
    uint64_t survivors;       /* objects that were alive */
    uint64_t survivor_bytes;  /* in the sizes they occupy */
    uint64_t recycled_bytes;  /* of memory, empty now and free for any use */
    uint64_t reclaimed_bytes; /* given back to the system by TSLAB_CLOSE_RECLAIM */
    int64_t rss_change_bytes; /* of the process, during a close with TSLAB_CLOSE_RECLAIM; else 0 */
    uint64_t age_ms;          /* since it was opened */
};

/* Closes an epoch: nobody can enter it any more, or allocate in it; nothing of it stays in any cache; its survivors are
 * treated by its policy. report may be NULL. TSLAB_PENDING while a thread is inside (also this one): then the last to
 * leave completes it, and the report says what was done so far. This thread gets nothing more from the epoch, plain
 * malloc inside of it lands in the process; another that is inside may still get what it has at hand. With
 * TSLAB_POLICY_RELEASE and TSLAB_POLICY_TRAP every use, and every free, of its objects must have returned before.
 * TSLAB_STALE also when it is closed already and gone, TSLAB_CLOSED when it is closed and not gone yet: then the report
 * says what lives in it. Where one thread at a time was inside, nothing is left and no report is wanted, closing is
 * five atomic operations, with TSLAB_POLICY_RELEASE seven; more for each run of memory that was not recycled by then.
 */
TSLAB_API enum tslab_status tslab_epoch_close_sized(tslab_epoch epoch, tslab_close_flags flags,
                                                    struct tslab_epoch_report *report, size_t size);

TSLAB_INLINE enum tslab_status tslab_epoch_close(tslab_epoch epoch, tslab_close_flags flags,
                                                 struct tslab_epoch_report *report)
{
    return tslab_epoch_close_sized(epoch, flags, report, sizeof *report);
}

/* Ends all objects of an epoch now, whatever its policy, open or closed. TSLAB_BUSY while a thread is inside: then
 * nothing has changed. Every use and free of its objects must have returned before. */
TSLAB_API enum tslab_status tslab_epoch_release_sized(tslab_epoch epoch, tslab_close_flags flags,
                                                      struct tslab_epoch_report *report, size_t size);

TSLAB_INLINE enum tslab_status tslab_epoch_release(tslab_epoch epoch, tslab_close_flags flags,
                                                   struct tslab_epoch_report *report)
{
    return tslab_epoch_release_sized(epoch, flags, report, sizeof *report);
}

/* Closes *epoch and opens the next with the same options, which *epoch names then. If *epoch is what this thread
 * entered last, it leaves the old one and is inside of the new one. Returns as tslab_epoch_close. */
TSLAB_API enum tslab_status tslab_epoch_advance_sized(tslab_epoch *epoch, tslab_close_flags flags,
                                                      struct tslab_epoch_report *report, size_t size);

TSLAB_INLINE enum tslab_status tslab_epoch_advance(tslab_epoch *epoch, tslab_close_flags flags,
                                                   struct tslab_epoch_report *report)
{
    return tslab_epoch_advance_sized(epoch, flags, report, sizeof *report);
}

/* As tslab_malloc, calloc and aligned_alloc, in an epoch by name, whether this thread is inside or not (inside is
 * faster). NULL with ENOMEM; NULL with EINVAL when the epoch is closed or not there. tslab_free frees the
 * memory (and free, where the program runs on libtslab-malloc, and nowhere else). tslab_realloc stays in the epoch of
 * the object; when that is closed, it moves to where plain malloc lands. */
TSLAB_API void *tslab_epoch_malloc(tslab_epoch epoch, size_t size) __attribute__((malloc, alloc_size(2)));
TSLAB_API void *tslab_epoch_calloc(tslab_epoch epoch, size_t count, size_t size)
    __attribute__((malloc, alloc_size(2, 3)));
TSLAB_API void *tslab_epoch_aligned_alloc(tslab_epoch epoch, size_t alignment, size_t size)
    __attribute__((malloc, alloc_size(3)));

/* The epoch that this thread entered last and has not left; {0} when there is none. */
TSLAB_API tslab_epoch tslab_epoch_current(void);

/* The epoch that an object belongs to; {0} for one of the process. Costs a few loads. */
TSLAB_API tslab_epoch tslab_epoch_of(const void *p);

enum tslab_epoch_state {
    TSLAB_EPOCH_OPEN,
    TSLAB_EPOCH_CLOSING, /* closed, and somebody is inside */
    TSLAB_EPOCH_DRAINING /* closed, and survivors hold memory */
};

struct tslab_epoch_stats {
    tslab_epoch epoch, parent;
    tslab_instance instance;
    char label[32];
    enum tslab_policy policy;
    enum tslab_epoch_state state;
    uint32_t inside;        /* threads */
    uint64_t age_ms;        /* since it was opened */
    uint64_t closed_ms;     /* since it was closed; 0 while it is open */
    uint64_t live_objects;  /* an object that is allocated or freed meanwhile may be counted or not */
    uint64_t live_bytes;    /* in the sizes they occupy */
    uint64_t memory_bytes;  /* of its slabs, chunks and large runs */
    uint64_t recycled_runs; /* slabs, chunks and large runs that emptied and serve others, since it was opened */
};

/* TSLAB_OK, TSLAB_STALE, TSLAB_NO_MEMORY; TSLAB_INVALID when stats is NULL. Costs a walk over the epoch's memory
 * records. */
TSLAB_API enum tslab_status tslab_epoch_stats_get_sized(tslab_epoch epoch, struct tslab_epoch_stats *stats,
                                                        size_t size);

TSLAB_INLINE enum tslab_status tslab_epoch_stats_get(tslab_epoch epoch, struct tslab_epoch_stats *stats)
{
    return tslab_epoch_stats_get_sized(epoch, stats, sizeof *stats);
}

/* Fills in at most `capacity` entries, for every epoch that is open or not gone yet, and returns how many there are,
 * which may be more than the capacity. An epoch that is draining, and stays so, is pinned by its survivors: see
 * closed_ms and live_objects. (size is that of one entry; where it is refused: 0 with errno EINVAL.) */
TSLAB_API size_t tslab_epoch_list_sized(struct tslab_epoch_stats *entries, size_t capacity, size_t size);

TSLAB_INLINE size_t tslab_epoch_list(struct tslab_epoch_stats *entries, size_t capacity)
{
    return tslab_epoch_list_sized(entries, capacity, sizeof *entries);
}

/* Handles: 64 bits that name an object and are checked. A stale, double, foreign or made-up one is refused, never
 * followed; also when the place of the object was used again. {0} names none. Objects that have a handle are freed by
 * it alone: tslab_free, tslab_realloc and free of one end the program. */
typedef struct {
    uint64_t id;
} tslab_handle;

/* Allocates in an epoch (this thread need not be inside), and puts the address where `p` says (NULL: not wanted). {0}
 * as tslab_epoch_malloc returns NULL; size is at most 32 KiB, else {0} with EINVAL. */
TSLAB_API tslab_handle tslab_handle_malloc(tslab_epoch epoch, size_t size, void **p);

/* The object that a handle of this epoch names, or NULL. It stays valid until the handle is freed, which is for the
 * program to order. Works also while a closed epoch drains. Costs a few loads. */
TSLAB_API void *tslab_handle_get(tslab_epoch epoch, tslab_handle handle);

/* Frees the object that a handle of this epoch names. TSLAB_OK once for each handle, else TSLAB_STALE. */
TSLAB_API enum tslab_status tslab_handle_free(tslab_epoch epoch, tslab_handle handle);

/* Instances: allocators beside the default one. An instance is a root of epochs: it ends with all that is in it. Its
 * root epoch (policy TSLAB_POLICY_RELEASE) serves what needs no lifetime of its own:
 *
 *   tslab_instance cache = tslab_instance_open("cache");
 *   void *p = tslab_epoch_malloc(tslab_instance_root(cache), 100);
 *
 * The root ends with the instance alone: to close, release or advance it by hand is refused (TSLAB_INVALID).
 *
 * Any number of threads, any number of instances (each needs an epoch). */
TSLAB_API tslab_instance tslab_instance_open(const char *label);    /* {0} with ENOMEM */
TSLAB_API tslab_epoch tslab_instance_root(tslab_instance instance); /* {0} when there is no such instance */

/* Ends the instance and all objects and epochs in it. TSLAB_BUSY while a thread is inside of one of them, TSLAB_STALE.
 * An epoch that another thread opens in it at that moment may outlive it, and is then to be closed by itself. */
TSLAB_API enum tslab_status tslab_instance_close_sized(tslab_instance instance, tslab_close_flags flags,
                                                       struct tslab_epoch_report *report, size_t size);

TSLAB_INLINE enum tslab_status tslab_instance_close(tslab_instance instance, tslab_close_flags flags,
                                                    struct tslab_epoch_report *report)
{
    return tslab_instance_close_sized(instance, flags, report, sizeof *report);
}

/* Units of work: what a program does again and again, a request, a job, a frame. The program marks them, and the
 * operator decides by TSLAB_EPOCH_POLICY what that means, without compiling anything:
 *
 *   never          nothing: all is of the process. Healthy, its memory bounded by the working set (the default)
 *   per-request    each unit has an epoch of its own, closed at its end
 *   batch-N        N units (1 to 1,000,000) of a thread share an epoch
 *   interval-MS    the units of a thread share an epoch until, at the end of one, MS milliseconds (1 to 86,400,000)
 *                  have passed
 *   manual         the units of a thread share an epoch, until somebody calls tslab_work_rotate
 *
 * All epochs that these open are TSLAB_POLICY_DRAIN: what survives a unit stays valid. Units nest; only the outermost
 * counts. begin and end must be called on the same thread. The epoch of a unit is an epoch like any other, which the
 * program may also leave, close or advance by hand: what is left is not left again at the end, a unit that was advanced
 * goes on in the next epoch, and after a closed one the next unit has another. Work that outlives its unit, or belongs
 * to none, can say so: between tslab_work_pause and tslab_work_resume, plain malloc lands outside of any epoch. */

/* Begins a unit; label as in tslab_epoch_options. TSLAB_OK, or TSLAB_NO_MEMORY: then the unit runs without an epoch,
 * and must be ended all the same. */
TSLAB_API enum tslab_status tslab_work_begin(const char *label);

/* Ends it. TSLAB_OK; TSLAB_NOT_INSIDE when the thread is in no unit, or when it entered an epoch in the outermost one
 * and has not left it: then the unit goes on. So under every policy, also `never`. */
TSLAB_API enum tslab_status tslab_work_end(void);

/* Every thread starts anew at the end of its current unit, or before the next. Any thread. */
TSLAB_API void tslab_work_rotate(void);

/* Nests, and pauses also epochs that were entered by hand. resume: TSLAB_OK, or TSLAB_NOT_INSIDE. */
TSLAB_API void tslab_work_pause(void);
TSLAB_API enum tslab_status tslab_work_resume(void);

/* Statistics. What other threads have is exact when these are at rest; else what they do meanwhile may be counted or
 * not. Bytes but for what is named otherwise. */
struct tslab_stats {
    size_t live_objects;      /* allocated and not freed, small ones; without those in chunks of epochs */
    size_t live_bytes;        /* in their size classes */
    size_t large_bytes;       /* used by runs of large objects */
    size_t cached_bytes;      /* free, in thread caches */
    size_t slab_bytes;        /* all slabs */
    size_t chunk_bytes;       /* all chunks of epochs; what lives in them is in tslab_epoch_stats */
    size_t dirty_bytes;       /* empty, pages still here, waiting for reuse or purge */
    size_t clean_bytes;       /* empty, without pages; what lost its addresses, too, is counted nowhere */
    size_t committed_bytes;   /* addresses that are accessible, with or without pages */
    size_t reserved_bytes;    /* addresses that the library may grow to; none is taken before it is needed */
    size_t metadata_bytes;    /* the engine's own records; side tables not counted */
    uint64_t allocations;     /* of small objects, since the start */
    uint64_t frees;           /* the same */
    uint64_t refills;         /* magazines filled from slabs */
    uint64_t flushes;         /* magazines given back to slabs */
    uint64_t bypassed_allocs; /* slots that went straight from slab to caller, where magazines do not help */
    uint64_t bypassed_frees;  /* slots that went straight back: the option magazines=0 */
    uint64_t remote_frees;    /* given straight to a slab that is home to another thread */
    uint64_t slabs_opened;    /* taken from the depot */
    uint64_t slabs_recycled;  /* emptied, and back in the depot */
    uint64_t harvests;        /* revisit queues harvested, and slabs found on them */
    uint64_t harvested;
    uint64_t queue_longest;  /* slabs on one such queue, at most */
    uint64_t purge_calls;    /* of madvise */
    uint64_t purged_bytes;   /* given back to the system, since the start */
    uint64_t purge_refusals; /* calls of madvise that the system refused: locked memory, a sandbox */
    uint32_t threads;        /* that use the library now */
    uint32_t thread_records; /* ever needed at once */
    uint32_t epochs_open;
    uint32_t epochs_draining; /* closed, and survivors hold memory */
    uint64_t epochs_opened;   /* since the start, also by units of work and instances */
    uint64_t epochs_closed;   /* closed or released */
    uint64_t epochs_drained;  /* of these: they had survivors, and are gone */
    uint64_t epoch_bytes;     /* that were allocated in chunks of epochs, since the start; not counted by object */
    uint64_t work_units;      /* ended, whatever the policy */
};

/* Fills in all of *stats. TSLAB_OK; TSLAB_INVALID when stats is NULL. Costs a walk over the records of
 * all threads, and of the epochs that are in use. */
TSLAB_API enum tslab_status tslab_stats_get_sized(struct tslab_stats *stats, size_t size);

TSLAB_INLINE enum tslab_status tslab_stats_get(struct tslab_stats *stats)
{
    return tslab_stats_get_sized(stats, sizeof *stats);
}

/* Writes the statistics, with a table of the size classes in use, and one of the epochs by label, as text to a file
 * descriptor. Does not allocate. */
TSLAB_API void tslab_stats_print(int fd);

/* The same as JSON: docs/statistics.md describes it. */
TSLAB_API void tslab_stats_json(int fd);

/* "major.minor.patch" of the library that runs; of this header, see TSLAB_VERSION_MAJOR. */
TSLAB_API const char *tslab_version(void);

#ifdef __cplusplus
}
#endif

#endif
