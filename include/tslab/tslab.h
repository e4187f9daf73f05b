/* tslab: a memory allocator for Linux.
 *
 * This header is the manual of the C interface. docs/guide.md says when to use what.
 *
 * Two libraries export these functions. libtslab has them alone. libtslab-malloc, the drop-in, has them too, and
 * malloc, free and the rest of that family for the whole program. In a program that runs on libtslab-malloc,
 * tslab_malloc and malloc are the same function.
 *
 * How to read the comments. The first paragraph says what a function does. Then come:
 *
 *   Requires: what the caller must see to.
 *   Returns:  the result, and every error.
 *   Threads:  who may call it when. If it is absent: any thread, at any time.
 *   Cost:     of the common case.
 *
 * Threads. "Any thread, at any time" includes destructors of threads and the child of a fork. One exception: a
 * destructor that runs after the library's last one cannot enter an epoch or begin a unit of work (TSLAB_NO_MEMORY).
 * Any thread may free an object, whichever thread allocated it. No function is a cancellation point. No function takes
 * more than 4 KiB of stack.
 *
 * Signals. No function is safe in a signal handler that may have interrupted a function of the library.
 *
 * Fork. The child has the whole heap, whatever other threads were doing. Fork handlers may call every function of this
 * header.
 *
 * With libtslab-malloc, fork handlers of other libraries may also wait: for a mutex under which threads allocate, or
 * for a thread to begin or to end. The drop-in registers its own handlers before any other library can (glibc 2.34 or
 * later).
 *
 * With libtslab, and with the static library in a plugin, this holds for handlers that were registered after the
 * library was loaded. Earlier handlers belong to libraries that the loader initialised first, or to the program that
 * loads the plugin. In a process of several threads they run while the heap is at rest and all signals are blocked.
 * They may allocate and free. They deadlock if they ask for statistics, or wait for a thread that allocates, begins or
 * ends.
 *
 * In a process that has never had a second thread, a signal handler may fork whatever it has interrupted. In a process
 * with several threads, a signal handler that interrupted a function of the library and forks may deadlock, as with
 * any malloc.
 *
 * Messages. The library holds no lock while it writes to stderr. A stalled reader of stderr delays the thread that
 * writes, and no other.
 *
 * Misuse. A double free, or a free of a pointer that is not an object's, ends the program: one line on stderr names
 * the misuse and the address, then the library calls abort. The checked libraries see every such misuse at the call,
 * and write its call stack below the line. The release libraries see it where that costs nothing (SECURITY.md). A
 * handler of SIGABRT may allocate and fork. It must not go on with the program.
 *
 * Versions. Before 1.0 every minor version may change the interface, and has a soname of its own (libtslab.so.0.4,
 * symbol version TSLAB_0.4). A patch version changes neither functions nor structs. From 1.0 on the same holds for
 * major versions.
 *
 * Values of different kinds cannot be confused. Statuses are small numbers. Flags for closing use the bits 0xff00,
 * flags for opening 0xff0000, policies higher ones. A value of one kind where another belongs is refused. */
#ifndef TSLAB_TSLAB_H
#define TSLAB_TSLAB_H

#include <stddef.h>
#include <stdint.h>

/* The version of this header. The build reads the version from here. */
#define TSLAB_VERSION_MAJOR 0
#define TSLAB_VERSION_MINOR 4
#define TSLAB_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

#ifndef TSLAB_API
#define TSLAB_API __attribute__((visibility("default")))
#endif

/* Allocates an object of at least `size` bytes, aligned to 16. A size of 0 gives an object of its own.
 *
 * Returns: the object. NULL with errno ENOMEM: out of memory.
 * Cost: about 20 instructions, no lock, no atomic operation. */
TSLAB_API void *tslab_malloc(size_t size) __attribute__((malloc, alloc_size(1)));

/* Allocates count * size bytes that read as zero.
 *
 * Returns: the object. NULL with errno ENOMEM: out of memory, or the product does not fit a size_t.
 * Cost: as tslab_malloc, and clearing. Large memory that is fresh from the system is zero already and is not touched.
 */
TSLAB_API void *tslab_calloc(size_t count, size_t size) __attribute__((malloc, alloc_size(1, 2)));

/* Changes the size of an object, in place if possible, else by moving it. The contents are kept up to the smaller
 * size. With p NULL it is tslab_malloc. With size 0 it frees p and returns NULL.
 *
 * Requires: p is NULL or a living object without a handle.
 * Returns: the object. NULL with errno ENOMEM: out of memory, and p is as it was.
 * Threads: any; no other thread uses the object meanwhile.
 * Cost: in place a few loads, and locks for an object above 256 KiB; else an allocation, a copy and a free. */
TSLAB_API void *tslab_realloc(void *p, size_t size) __attribute__((alloc_size(2)));

/* Allocates an object of at least `size` bytes at a multiple of `alignment`.
 *
 * Requires: alignment is a power of two.
 * Returns: the object. NULL with errno EINVAL: alignment is not a power of two. NULL with errno ENOMEM: out of memory.
 * Cost: as tslab_malloc up to an alignment of 16; more above. */
TSLAB_API void *tslab_aligned_alloc(size_t alignment, size_t size) __attribute__((malloc, alloc_size(2)));

/* Frees an object. In a program that runs on libtslab-malloc it is the same function as free. In any other program
 * free belongs to another malloc: only tslab_free and tslab_realloc take objects of this library there.
 *
 * Requires: p is NULL, or a living object that a function of this header returned, without a handle.
 * Returns: nothing; errno is kept.
 * Threads: any; not only the one that allocated the object.
 * Cost: about 20 instructions, no lock, no atomic operation. One atomic addition for an object that the thread's cache
 *   does not take. */
TSLAB_API void tslab_free(void *p);

/* Tells how many bytes may be used at p.
 *
 * Requires: p is NULL or a living object.
 * Returns: at least the size that was asked for. 0 for NULL.
 * Cost: a few loads; a lock of the thread's own for an object above 256 KiB. */
TSLAB_API size_t tslab_usable_size(const void *p);

/* Gives memory back to the system before it returns. First it empties the cache of the calling thread. Then it gives
 * back the pages of all empty memory. Caches of other threads stay.
 *
 * Returns: the bytes that were given back.
 * Cost: a system call for each empty range. */
TSLAB_API size_t tslab_trim(void);

/* Epochs.
 *
 * An epoch is a lifetime: a request, a batch, a frame, a connection. Every object belongs to the epoch in which it was
 * allocated. Objects of different epochs share no memory. So when an epoch is over, its memory comes back as a whole.
 * An object that is allocated outside of any epoch belongs to the process, an epoch that ends when the process exits.
 *
 *   tslab_epoch request = tslab_epoch_open(NULL);
 *   tslab_epoch_enter(request);                    plain malloc of this thread, by any library, lands in it
 *   handle_request();
 *   tslab_epoch_leave(request);
 *   tslab_epoch_close(request, 0, NULL);           freed memory is back already; survivors come back as they die
 *
 * A checked value names an epoch. Functions refuse the value of an epoch that is gone or never was (TSLAB_STALE), even
 * if another epoch has taken its place. The value {0} names no epoch. */

/* The result of a function: what it did, or why it did nothing. A value below 0 is an error, and nothing has changed.
 */
enum tslab_status {
    TSLAB_OK = 0,
    /* Entered. Plain malloc does not land in the epoch: only calls that name it do. */
    TSLAB_EXPLICIT = 1,
    /* Closed, while a thread is still inside. The last thread to leave completes the close. */
    TSLAB_PENDING = 2,
    /* The epoch, handle or instance does not exist, or no longer exists. */
    TSLAB_STALE = -1,
    /* The epoch is closed: no thread can enter it or allocate in it. */
    TSLAB_CLOSED = -2,
    /* The scope, unit of work or pause that is to end is not what this thread began last. */
    TSLAB_NOT_INSIDE = -3,
    /* A thread is inside. */
    TSLAB_BUSY = -4,
    TSLAB_NO_MEMORY = -5,
    /* An argument is out of its range, or of the wrong kind. */
    TSLAB_INVALID = -6,
    /* The option has the value that it had when the library started. */
    TSLAB_FIXED = -7
};

/* Explains a status in a few words, without a full stop.
 *
 * Returns: a string constant; "unknown status" for any other number. */
TSLAB_API const char *tslab_status_text(enum tslab_status status);

/* Names a status.
 *
 * Returns: a string constant such as "TSLAB_STALE"; "unknown" for any other number. */
TSLAB_API const char *tslab_status_name(enum tslab_status status);

/* Options, as docs/options.md lists them: by name, with values as text. All can be read.
 * The program can set, for all threads: `limit_bytes`, `soft_limit_bytes`, `epoch_limits`, `epoch_policy`, `purge`,
 * `purge_delay_ms`, `retain_bytes`, `retain_limit_bytes`, `cache_bytes`, `stats`, `profile`. Each thread follows the
 * new value from its next operation on.
 * The file of `stats` and `profile` may be named once, and then stays: the new value names no other.
 * limit_bytes and soft_limit_bytes are members of struct tslab_limits. If two threads set limits at the same time, one
 * of the two changes may be lost.
 *
 * Returns: TSLAB_OK. TSLAB_INVALID: there is no such option, it cannot have this value, or what is to be filled in has
 *   fewer bytes than the value with its terminating 0. TSLAB_FIXED: it cannot be set any more. TSLAB_NO_MEMORY: no
 *   memory for the profiler's tables (option `profile` only).
 * Threads: any, also at once.
 * Cost: some compares of strings. */
TSLAB_API enum tslab_status tslab_option_get(const char *name, char *value, size_t bytes);
TSLAB_API enum tslab_status tslab_option_set(const char *name, const char *value);

/* How much memory the program may use. The options limit_bytes and soft_limit_bytes set both when it starts. The
 * footprint counts: the slabs, chunks and large blocks in use, and freed memory whose pages have not gone back. The
 * library's own records (tslab_stats.metadata_bytes) come on top. */
struct tslab_limits {
    size_t hard_bytes; /* an allocation that would exceed it fails with ENOMEM, after all that can be given back went
                          back; 0: no limit */
    size_t soft_bytes; /* above it no freed memory waits for reuse, and caches are small; 0: no limit */
    /* Called each time that the footprint has passed soft_bytes, by the thread that notices in an allocation. It may
     * allocate, free and set limits. The library holds no lock. NULL: no callback. */
    void (*on_soft)(size_t footprint_bytes, size_t soft_bytes, void *context);
    void *context; /* what on_soft is called with */
};

/* Sets the process-wide limits. Memory already above a new limit is kept.
 *
 * Returns: TSLAB_OK. TSLAB_INVALID: limits is NULL.
 * Cost: a lock and some stores. */
TSLAB_API enum tslab_status tslab_limits_set(const struct tslab_limits *limits);

/* Tells the limits in force, and the footprint.
 *
 * Returns: the footprint in bytes. limits may be NULL.
 * Cost: a lock and some loads. */
TSLAB_API size_t tslab_limits_get(struct tslab_limits *limits);

typedef struct {
    uint64_t id;
} tslab_epoch;

typedef struct {
    uint64_t id;
} tslab_instance;

/* The fate of survivors: the objects that are alive when their epoch is closed. */
enum tslab_policy {
    /* In options: TSLAB_POLICY_DRAIN. */
    TSLAB_POLICY_DEFAULT = 0,
    /* Survivors stay valid. Their memory comes back as they are freed. This is the only policy for code that does not
     * know that it runs in an epoch. */
    TSLAB_POLICY_DRAIN = 0x1000001,
    /* Survivors are dead. All memory comes back without a single free. */
    TSLAB_POLICY_RELEASE = 0x1000002,
    /* As TSLAB_POLICY_DRAIN. If there are survivors, a line on stderr counts them. */
    TSLAB_POLICY_REPORT = 0x1000003,
    /* As TSLAB_POLICY_RELEASE, and any later touch of the objects faults. The trap lasts until 4,096 more runs of
     * memory have been trapped, or an eighth of what the arena has had in use at most. In the checked library, which
     * traps freed large objects, too, it is 1,024 runs. */
    TSLAB_POLICY_TRAP = 0x1000004
};

/* Flags of tslab_epoch_open. */
enum tslab_open_flag {
    /* Lets plain malloc land in an epoch of TSLAB_POLICY_RELEASE or TSLAB_POLICY_TRAP. Without the flag only calls
     * that name such an epoch allocate in it, because libc and other libraries allocate for themselves inside
     * harmless-looking calls, and would lose what they keep. With the flag the program vouches for all code that it
     * calls inside. */
    TSLAB_OPEN_VOUCHED = 0x10000
};

/* Flags of the functions that close. */
enum tslab_close_flag {
    /* Gives the pages of all memory that is empty then back to the system before the function returns. Without the
     * flag the options purge_delay_ms and retain_bytes decide when that happens. */
    TSLAB_CLOSE_RECLAIM = 0x100
};

/* Sets of flags; 0 is the empty set. In C, compilers warn about a flag or policy of another kind. */
#ifdef __cplusplus
typedef unsigned tslab_open_flags;
typedef unsigned tslab_close_flags;
#else
typedef enum tslab_open_flag tslab_open_flags;
typedef enum tslab_close_flag tslab_close_flags;
#endif

/* All members 0: TSLAB_POLICY_DRAIN without a label. */
struct tslab_epoch_options {
    const char *label;       /* for reports; copied, at most 31 bytes; NULL: none */
    tslab_epoch parent;      /* for reports; {0}: none */
    tslab_instance instance; /* the epoch belongs to it and ends with it; {0}: the default one */
    enum tslab_policy policy;
    tslab_open_flags flags; /* TSLAB_OPEN_VOUCHED, or 0 */
    size_t limit_bytes; /* the memory that the epoch may have (as tslab_epoch_stats.memory_bytes); an allocation that
                           would exceed it fails with ENOMEM. Each thread that is inside may have a chunk of 64 KiB
                           on top; 0: no limit */
};

/* Opens an epoch. options NULL: TSLAB_POLICY_DRAIN without a label. Some millions of epochs may be open at once.
 *
 * Returns: the epoch. {0} with errno ENOMEM: out of memory. {0} with errno EINVAL: a policy or a flag is one that this
 *   version does not know, or the instance or parent does not exist.
 * Cost: if this thread has closed an epoch before, a look at the clock and some stores: no lock, no other atomic
 *   operation. */
TSLAB_API tslab_epoch tslab_epoch_open(const struct tslab_epoch_options *options);

/* Enters an epoch: begins a scope, which ends with tslab_epoch_leave. Inside, plain malloc of this thread lands in the
 * epoch (see TSLAB_OPEN_VOUCHED), and calls that name the epoch are fast. Scopes nest. Plain malloc lands in the
 * innermost scope that takes it. If that epoch is closed meanwhile, plain malloc lands in the process.
 *
 * Returns: TSLAB_OK. TSLAB_EXPLICIT: entered, but plain malloc does not land there, because of the epoch's policy, or
 *   because the program is linked with libtslab alone and malloc is another library's; tslab_malloc always follows the
 *   scope. TSLAB_STALE, TSLAB_CLOSED, TSLAB_NO_MEMORY: not entered.
 * Threads: any; several may be inside of one epoch at once.
 * Cost: one atomic operation; more while several threads are inside. */
TSLAB_API enum tslab_status tslab_epoch_enter(tslab_epoch epoch);

/* Leaves an epoch. Another thread may enter it afterwards, so an asynchronous task can carry its epoch from thread to
 * thread. A thread that ends leaves all its scopes.
 *
 * Requires: this thread entered this epoch last.
 * Returns: TSLAB_OK. TSLAB_NOT_INSIDE: this thread did not enter this epoch last.
 * Threads: the one that entered.
 * Cost: one atomic operation; more if it completes a close. */
TSLAB_API enum tslab_status tslab_epoch_leave(tslab_epoch epoch);

/* The effect of closing an epoch. */
struct tslab_epoch_report {
    uint64_t survivors;       /* objects that were alive */
    uint64_t survivor_bytes;  /* in the sizes that they occupy */
    uint64_t recycled_bytes;  /* memory of the epoch that is empty now and free for any use */
    uint64_t reclaimed_bytes; /* given back to the system because of TSLAB_CLOSE_RECLAIM */
    int64_t rss_change_bytes; /* of the process, during a close with TSLAB_CLOSE_RECLAIM; else 0 */
    uint64_t age_ms;          /* since it was opened */
};

/* Closes an epoch. No thread can enter it any more, or allocate in it. None of its memory stays in a cache. The policy
 * of the epoch decides what becomes of the survivors. report may be NULL.
 *
 * If a thread is still inside (this one counts), the close is pending: the last thread to leave completes it. Until
 * then this thread gets no more memory from the epoch: its plain malloc inside lands in the process. Other threads
 * inside may still be served from memory that they already hold.
 *
 * Requires: with TSLAB_POLICY_RELEASE and TSLAB_POLICY_TRAP, every use and every free of the epoch's objects has
 *   returned.
 * Returns: TSLAB_OK. TSLAB_PENDING: the report says what was done so far. TSLAB_STALE: there is no such epoch, or it
 *   is closed and gone. TSLAB_CLOSED: it is closed and not gone yet; the report says what lives in it.
 *   TSLAB_NO_MEMORY. TSLAB_INVALID: the flags, or the epoch is the root of an instance.
 * Threads: any; it need not be inside.
 * Cost: five atomic operations, with TSLAB_POLICY_RELEASE seven, if one thread at a time was inside, nothing is left
 *   and no report is wanted; more for each run of memory that was not recycled before. */
TSLAB_API enum tslab_status tslab_epoch_close(tslab_epoch epoch, tslab_close_flags flags,
                                              struct tslab_epoch_report *report);

/* Ends all objects of an epoch now, whatever its policy, whether it is open or drains. report may be NULL.
 *
 * Requires: every use and every free of the epoch's objects has returned.
 * Returns: TSLAB_OK. TSLAB_BUSY: a thread is inside, and nothing has changed. TSLAB_STALE, TSLAB_NO_MEMORY.
 *   TSLAB_INVALID: the flags, or the epoch is the root of an instance.
 * Cost: as tslab_epoch_close. */
TSLAB_API enum tslab_status tslab_epoch_release(tslab_epoch epoch, tslab_close_flags flags,
                                                struct tslab_epoch_report *report);

/* Closes *epoch and opens the next one with the same options. *epoch names the next one afterwards. If this thread
 * entered *epoch last, it leaves the old epoch and is inside of the new one. report, about the old epoch, may be NULL.
 *
 * Requires: as tslab_epoch_close.
 * Returns: as tslab_epoch_close. After an error *epoch is as it was.
 * Threads: any; no other thread writes *epoch meanwhile.
 * Cost: of opening and closing, and of entering and leaving if this thread is inside. */
TSLAB_API enum tslab_status tslab_epoch_advance(tslab_epoch *epoch, tslab_close_flags flags,
                                                struct tslab_epoch_report *report);

/* Allocate in an epoch by name, as tslab_malloc, tslab_calloc and tslab_aligned_alloc do. This thread need not be
 * inside. tslab_free frees the object; free does only in a program that runs on libtslab-malloc. tslab_realloc keeps
 * the object in its epoch. If that epoch is closed, tslab_realloc moves the object to where plain malloc lands.
 *
 * Returns: the object. NULL with errno ENOMEM: out of memory, or the product does not fit a size_t. NULL with errno
 *   EINVAL: the epoch is closed or does not exist, or alignment is not a power of two.
 * Cost: about that of tslab_malloc for tslab_epoch_malloc in the epoch that this thread entered last; more elsewhere.
 */
TSLAB_API void *tslab_epoch_malloc(tslab_epoch epoch, size_t size) __attribute__((malloc, alloc_size(2)));
TSLAB_API void *tslab_epoch_calloc(tslab_epoch epoch, size_t count, size_t size)
    __attribute__((malloc, alloc_size(2, 3)));
TSLAB_API void *tslab_epoch_aligned_alloc(tslab_epoch epoch, size_t alignment, size_t size)
    __attribute__((malloc, alloc_size(3)));

/* Tells in which epoch this thread is.
 *
 * Returns: the epoch that this thread entered last and has not left; {0} if there is none.
 * Cost: a few loads. */
TSLAB_API tslab_epoch tslab_epoch_current(void);

/* Tells to which epoch an object belongs.
 *
 * Requires: p is a living object.
 * Returns: the epoch; {0} for an object of the process.
 * Cost: a few loads. */
TSLAB_API tslab_epoch tslab_epoch_of(const void *p);

enum tslab_epoch_state {
    TSLAB_EPOCH_OPEN,
    TSLAB_EPOCH_CLOSING, /* closed, and a thread is inside */
    TSLAB_EPOCH_DRAINING /* closed, and survivors keep memory */
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
    uint64_t live_bytes;    /* in the sizes that they occupy */
    uint64_t memory_bytes;  /* of its slabs, chunks and large runs */
    uint64_t recycled_runs; /* slabs, chunks and large runs that emptied and serve others, since it was opened */
    uint64_t slab_bytes;    /* parts of memory_bytes: its slabs */
    uint64_t chunk_bytes;   /* its chunks */
    uint64_t large_bytes;   /* its large runs */
    uint64_t cached_bytes;  /* free slots that the caches of its threads have; a part of slab_bytes */
    /* The most that memory_bytes was. A chunk that a scope is filling counts when the scope goes on to the next one, or
     * ends. So this may be 64 KiB too low for each thread that was inside, and is never below memory_bytes. */
    uint64_t peak_bytes;
    /* Of memory_bytes, on pages that were handed out and did not go back to the system. A page that the program got and
     * has not written to counts, too. Of pages that are handed out or go back meanwhile, some may be missed. */
    uint64_t resident_bytes;
    uint64_t limit_bytes; /* that it was opened with; 0: none */
    uint64_t refusals;    /* allocations that failed because of it, or of the limit of the instance or the label */
};

/* Describes an epoch in *stats.
 *
 * Returns: TSLAB_OK. TSLAB_STALE, TSLAB_NO_MEMORY. TSLAB_INVALID: stats is NULL.
 * Cost: a walk over the epoch's memory records. */
TSLAB_API enum tslab_status tslab_epoch_stats_get(tslab_epoch epoch, struct tslab_epoch_stats *stats);

/* Lists the epochs that are open, or closed and not gone yet: at most `capacity` of them. An epoch that stays in state
 * TSLAB_EPOCH_DRAINING is kept by its survivors: see closed_ms and live_objects.
 *
 * Returns: how many such epochs there are, which may be more than `capacity`.
 * Cost: a walk over the epochs in use, and as tslab_epoch_stats_get for each entry. */
TSLAB_API size_t tslab_epoch_list(struct tslab_epoch_stats *entries, size_t capacity);

/* Handles.
 *
 * A handle is 64 bits that name an object and are checked. The library refuses a stale, foreign or made-up handle and
 * never follows it, even if another object has taken the place. A second free is refused, too. {0} names no object. A
 * foreign or made-up handle fits with a chance of 1 in 2^39. Only tslab_handle_free frees or moves an object that has a
 * handle. */
typedef struct {
    uint64_t id;
} tslab_handle;

/* Allocates an object with a handle in an epoch, and stores its address in *p. p may be NULL. This thread need not be
 * inside.
 *
 * Returns: the handle. {0} with errno ENOMEM: out of memory. {0} with errno EINVAL: the epoch is closed or does not
 *   exist. An epoch has at most 33 million handles at once, and then no memory for more.
 * Cost: a pair with tslab_handle_free takes one atomic operation in an epoch that this thread is inside of, and seven
 *   in another; 16 bytes for each handle that lives at once, until the epoch ends. */
TSLAB_API tslab_handle tslab_handle_malloc(tslab_epoch epoch, size_t size, void **p);

/* Finds the object that a handle of this epoch names. This works also while a closed epoch drains.
 *
 * Requires: the program orders this call and the uses of the object before the free of the handle.
 * Returns: the object, which is valid until the handle is freed. NULL: the handle is refused.
 * Cost: a few loads. */
TSLAB_API void *tslab_handle_get(tslab_epoch epoch, tslab_handle handle);

/* Frees the object that a handle of this epoch names.
 *
 * Returns: TSLAB_OK, once for each handle. TSLAB_STALE: the handle is refused.
 * Threads: any; of several that free the same handle at once, one gets TSLAB_OK.
 * Cost: see tslab_handle_malloc. */
TSLAB_API enum tslab_status tslab_handle_free(tslab_epoch epoch, tslab_handle handle);

/* Instances.
 *
 * An instance is an allocator beside the default one: a root of epochs, which ends with all that is in it. Its root
 * epoch (policy TSLAB_POLICY_RELEASE) serves what needs no lifetime of its own:
 *
 *   tslab_instance cache = tslab_instance_open("cache");
 *   void *p = tslab_epoch_malloc(tslab_instance_root(cache), 100);
 *
 * The root ends only with the instance: tslab_epoch_close, _release and _advance refuse it (TSLAB_INVALID). Any number
 * of threads may use an instance. Each instance takes one epoch. */

/* Opens an instance; label as in tslab_epoch_options.
 *
 * Returns: the instance. {0} with errno ENOMEM: out of memory.
 * Cost: as tslab_epoch_open. */
TSLAB_API tslab_instance tslab_instance_open(const char *label);

/* Names the root epoch of an instance.
 *
 * Returns: the epoch. {0}: there is no such instance.
 * Cost: a few loads. */
TSLAB_API tslab_epoch tslab_instance_root(tslab_instance instance);

/* Limits the memory of the instance: of its root and of all epochs that name it, together, in bytes. 0: no limit, as
 * when it is opened. An allocation that exceeds the limit is refused with ENOMEM, also for plain malloc inside of such
 * an epoch. A limit below what is in use stops growth and takes nothing away.
 *
 * Requires: no thread closes the instance meanwhile. (The limit might be that of the next one.)
 * Returns: TSLAB_OK. TSLAB_STALE: there is no such instance.
 * Threads: any. Those that allocate at the same moment may get a few slabs more.
 * Cost: a few loads, and a store. */
TSLAB_API enum tslab_status tslab_instance_limit(tslab_instance instance, size_t bytes);

/* Ends the instance, and all objects and epochs in it. report, about all of them, may be NULL. An epoch that another
 * thread opens in the instance at that moment may outlive it; the program then closes that epoch by itself.
 *
 * Requires: every use and every free of the instance's objects has returned.
 * Returns: TSLAB_OK. TSLAB_BUSY: a thread is inside of one of the epochs. TSLAB_STALE, TSLAB_NO_MEMORY. TSLAB_INVALID:
 *   the flags. If a thread enters an epoch during the call, it may return TSLAB_BUSY after some epochs have ended.
 * Cost: a walk over the epochs in use, and the close of each that belongs to the instance. */
TSLAB_API enum tslab_status tslab_instance_close(tslab_instance instance, tslab_close_flags flags,
                                                 struct tslab_epoch_report *report);

/* Units of work.
 *
 * A unit of work is what a program does again and again: a request, a job, a frame. The program marks its units. The
 * operator decides by TSLAB_EPOCH_POLICY what the marks mean, without compiling anything:
 *
 *   never          nothing: all objects belong to the process (the default). The working set bounds its memory
 *   per-request    each unit has an epoch of its own, closed at its end
 *   batch-N        N units (1 to 1,000,000) of a thread share an epoch
 *   interval-MS    the units of a thread share an epoch until, at the end of one, MS milliseconds (1 to 86,400,000)
 *                  have passed
 *   manual         the units of a thread share an epoch, until somebody calls tslab_work_rotate
 *
 * These epochs have TSLAB_POLICY_DRAIN: what survives a unit stays valid. Units nest, and only the outermost counts.
 *
 * The epoch of a unit is an epoch like any other. The program may leave, close or advance it by hand. tslab_work_end
 * does not leave again what was left. A unit whose epoch was advanced goes on in the next epoch. After its epoch was
 * closed, the next unit opens another.
 *
 * Work that outlives its unit, or belongs to none, can say so: between tslab_work_pause and tslab_work_resume, plain
 * malloc lands outside of any epoch. */

/* Begins a unit; label as in tslab_epoch_options.
 *
 * Requires: the same thread ends the unit.
 * Returns: TSLAB_OK. TSLAB_NO_MEMORY: the unit runs without an epoch, and must be ended all the same.
 * Cost: under `never` some stores; else of tslab_epoch_enter, and of tslab_epoch_open for the first unit of an epoch.
 */
TSLAB_API enum tslab_status tslab_work_begin(const char *label);

/* Ends a unit.
 *
 * Requires: this thread has left what it entered in the unit.
 * Returns: TSLAB_OK. TSLAB_NOT_INSIDE: this thread is in no unit; or it entered an epoch in the outermost unit and has
 *   not left it, and the unit goes on. The result is the same under every policy, `never` included.
 * Threads: the one that began the unit.
 * Cost: under `never` some stores; else of tslab_epoch_leave, and of tslab_epoch_close for the last unit of an epoch.
 */
TSLAB_API enum tslab_status tslab_work_end(void);

/* Asks every thread to give its next unit a new epoch. A thread closes the epoch that its units share at the end of
 * its current unit (`manual`), or before its next unit (`batch-N`, `interval-MS`). Under the other policies nothing
 * changes.
 *
 * Cost: one atomic addition. */
TSLAB_API void tslab_work_rotate(void);

/* Between a pause and its resume, plain malloc of this thread lands in the process: outside of its unit, and outside
 * of epochs that were entered by hand. Pauses nest.
 *
 * Returns: tslab_work_resume TSLAB_OK, or TSLAB_NOT_INSIDE: there is no pause to end.
 * Threads: the one that paused resumes.
 * Cost: some stores. */
TSLAB_API void tslab_work_pause(void);
TSLAB_API enum tslab_status tslab_work_resume(void);

/* Statistics. They are exact while other threads are at rest. Work of other threads meanwhile may be counted or not.
 *
 * struct tslab_stats has the figures that are asked for most. docs/statistics.md lists all: tslab_stat_get tells one by
 * its name, tslab_stats_json writes all of them. Figures are bytes unless their name or comment says otherwise. */
struct tslab_stats {
    uint64_t live_objects;    /* small ones, allocated and not freed; without those in chunks of epochs */
    uint64_t live_bytes;      /* of these objects, each as large as its size class */
    uint64_t large_bytes;     /* bytes of large objects */
    uint64_t cached_bytes;    /* free, in thread caches */
    uint64_t slab_bytes;      /* all slabs */
    uint64_t chunk_bytes;     /* all chunks of epochs; what lives in them is in tslab_epoch_stats */
    uint64_t dirty_bytes;     /* empty, with pages: waiting for reuse or a purge */
    uint64_t committed_bytes; /* addresses that are accessible, with or without pages */
    uint64_t metadata_bytes;  /* the engine's own records, without side tables */
    uint64_t allocations;     /* of small objects, since the start */
    uint64_t frees;           /* of small objects, since the start */
    uint64_t threads;         /* threads that use the library now */
    uint64_t epochs_open;
    uint64_t epochs_draining; /* closed, and survivors keep memory */
};

/* Fills in all of *stats.
 *
 * Returns: TSLAB_OK. TSLAB_INVALID: stats is NULL.
 * Cost: a walk over the records of all threads, and of the epochs in use. */
TSLAB_API enum tslab_status tslab_stats_get(struct tslab_stats *stats);

/* Tells one figure by its name. docs/statistics.md lists the names:
 *
 *   purged_bytes                     a total of the process
 *   process.rss_bytes                the process as the system sees it, and the terms of its RSS
 *   account.dirty_runs.bytes         an account of memory; also account.NAME.untouched_bytes
 *   class.64.live                    a size class, by the size of its slots
 *   thread.allocations               the calling thread
 *   label.request.live_bytes         the epochs with a label, and its limit; all are 0 where there are none
 *
 * Returns: TSLAB_OK. TSLAB_INVALID: there is no such figure, or an argument is NULL; *value is as it was.
 *   TSLAB_NO_MEMORY: of a label or the thread, there is no memory for the thread's record.
 * Threads: any. Two figures are of two moments.
 * Cost: some compares of strings, and a walk: for totals as tslab_stats_get; for accounts and the terms of the RSS a
 *   look at every unit (16 KiB) of the arena, at every slab and every chunk in use; for a class that, and a look at
 *   every slot of the class; for a thread its size classes; for a label every run of the epochs in use. */
TSLAB_API enum tslab_status tslab_stat_get(const char *name, uint64_t *value);

/* Writes a summary for people to a file descriptor: memory by use, the size classes with most memory, and epochs by
 * label. It does not allocate.
 *
 * Returns: TSLAB_OK. TSLAB_INVALID: not all of it could be written.
 * Cost: as tslab_stats_get, a look at every run of the epochs in use, and writing. */
TSLAB_API enum tslab_status tslab_stats_print(int fd);

/* Writes all statistics as JSON to a file descriptor. docs/statistics.md describes the members. It does not allocate.
 *
 * Returns: TSLAB_OK. TSLAB_INVALID: not all of it could be written.
 * Cost: as tslab_stats_print. */
TSLAB_API enum tslab_status tslab_stats_json(int fd);

/* Writes the heap profile to a file descriptor: which call stacks allocated what lives, what was allocated, and the
 * pages that few objects keep. It exists while the option `profile` is set; tslab_option_set can set it. `tslab
 * profile` reads it; docs/profiles.md describes it. It does not allocate.
 *
 * Returns: TSLAB_OK. TSLAB_INVALID: not all of it could be written.
 * Threads: any.
 * Cost: a look at every slab and chunk, and writing a line for each sample. */
TSLAB_API enum tslab_status tslab_profile_write(int fd);

/* Tells the version of the library that runs. TSLAB_VERSION_MAJOR and the others tell that of this header.
 *
 * Returns: a string constant, "major.minor.patch". */
TSLAB_API const char *tslab_version(void);

#ifdef __cplusplus
}
#endif

#endif
