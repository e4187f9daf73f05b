/* tslab: a memory allocator for Linux.
 *
 * This header is the manual of the C interface. The functions come in two libraries: libtslab (these functions alone)
 * and libtslab-malloc (these, and malloc, free and all their family for the whole program: the drop-in).
 *
 * All functions may be called from any thread at any time, also in destructors of threads and in the child of a fork.
 * None is safe in a signal handler. Memory that one function of this header returns may be freed by any thread. In a
 * program that runs on libtslab-malloc, tslab_malloc and malloc are the same.
 *
 * Misuse by pointer (a double free, the free of a pointer that is no object's) ends the program: one line on stderr
 * says what and where, then abort. It is seen always in checked builds, and otherwise wherever the design sees it for
 * nothing.
 */
#ifndef TSLAB_TSLAB_H
#define TSLAB_TSLAB_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef TSLAB_API
#define TSLAB_API __attribute__((visibility("default")))
#endif

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

/* Frees an object of any of these functions; NULL is allowed. Keeps errno. */
TSLAB_API void tslab_free(void *p);

/* The bytes that may be used at p, at least what was asked for; 0 for NULL. */
TSLAB_API size_t tslab_usable_size(const void *p);

/* Gives back to the system, before it returns, the pages of all memory that is empty, and first what the calling thread
 * caches. Other threads' caches are theirs. Returns the bytes given back. Costs a system call for each empty range. */
TSLAB_API size_t tslab_trim(void);

/* Statistics. Counters of other threads are as of their last slow path: exact when these are at rest, else a little
 * old. Bytes but for what is named otherwise. */
struct tslab_stats {
    size_t live_objects;      /* allocated and not freed, small ones */
    size_t live_bytes;        /* in their size classes */
    size_t large_bytes;       /* used by runs of large objects, and mappings outside the arena */
    size_t cached_bytes;      /* free, in thread caches */
    size_t slab_bytes;        /* all slabs */
    size_t dirty_bytes;       /* empty, pages still here, waiting for reuse or purge */
    size_t clean_bytes;       /* empty, without pages */
    size_t committed_bytes;   /* addresses that are accessible, with or without pages */
    size_t reserved_bytes;    /* addresses that are reserved */
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
    uint32_t threads;        /* that use the library now */
    uint32_t thread_records; /* ever needed at once */
};

/* Fills in all of *stats. Costs a walk over all threads' records. */
TSLAB_API void tslab_stats_get(struct tslab_stats *stats);

/* Writes the statistics, with a table of the size classes in use, as text to a file descriptor. Does not allocate. */
TSLAB_API void tslab_stats_print(int fd);

/* "major.minor.patch" of the library that runs. */
TSLAB_API const char *tslab_version(void);

#ifdef __cplusplus
}
#endif

#endif
