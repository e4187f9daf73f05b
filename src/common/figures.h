/* All figures: a row for each, from which everything else is made that names it: the structs that reports fill in,
 * JSON, tslab_stat_get, and, by tools/figures.py, the tables of docs/statistics.md and of the tools. To add
 * a figure is a row here, and the place where it is counted.
 *
 * X(name, unit, COUNTER (since the start, only ever grows) or GAUGE (now), help). Help is one sentence without a full
 * stop, in Markdown's plain characters. */
#ifndef TSLAB_COMMON_FIGURES_H
#define TSLAB_COMMON_FIGURES_H

#include <stdint.h>

/* clang-format off */

/* The totals that are sums of the figures of that name of all classes. */
#define TOTALS_OF_CLASSES(X)                                                                                          \
    X(allocations, COUNT, COUNTER, "small objects allocated; without those in chunks of epochs")                      \
    X(frees, COUNT, COUNTER, "small objects freed; without those in chunks of epochs")                                \
    X(refills, COUNT, COUNTER, "batches of slots taken from slabs")                                                   \
    X(flushes, COUNT, COUNTER, "magazines, outboxes and trays given back to slabs")                                   \
    X(remote_frees, COUNT, COUNTER, "slots freed that the freeing thread may not keep")                               \
    X(slabs_recycled, COUNT, COUNTER, "slabs that emptied and are back in the depot")                                 \
    X(harvests, COUNT, COUNTER, "revisit queues that the holder of a list lock worked off")                           \
    X(queue_length, COUNT, GAUGE, "slabs that wait on revisit queues")

/* The process. `class.SIZE.*`, `label.*` and the others are parts of it. */
#define TOTAL_FIGURES(X)                                                                                              \
    X(live_objects, COUNT, GAUGE, "small objects, allocated and not freed; without those in chunks of epochs")        \
    X(live_bytes, BYTES, GAUGE, "of these objects, in the sizes of their classes")                                    \
    X(large_bytes, BYTES, GAUGE, "bytes of large objects")                                                            \
    X(cached_bytes, BYTES, GAUGE, "free, in caches of threads")                                                       \
    X(slab_bytes, BYTES, GAUGE, "all slabs")                                                                          \
    X(chunk_bytes, BYTES, GAUGE, "all chunks of epochs")                                                              \
    X(dirty_bytes, BYTES, GAUGE, "empty, with pages: memory that waits for reuse or a purge")                         \
    X(clean_bytes, BYTES, GAUGE, "empty, without pages; memory that lost its addresses, too, is counted nowhere")     \
    X(committed_bytes, BYTES, GAUGE, "addresses that are accessible, with or without pages")                          \
    X(reserved_bytes, BYTES, GAUGE, "addresses that the library may grow to; none is taken before it is needed")      \
    X(metadata_bytes, BYTES, GAUGE, "the engine's own records, without side tables")                                  \
    TOTALS_OF_CLASSES(X)                                                                                              \
    X(slabs_opened, COUNT, COUNTER, "slabs taken from the depot")                                                     \
    X(queue_longest, COUNT, GAUGE, "the most slabs that were on one revisit queue")                                   \
    X(purge_calls, COUNT, COUNTER, "system calls that give memory back")                                              \
    X(purged_bytes, BYTES, COUNTER, "given back to the system")                                                       \
    X(purge_refusals, COUNT, COUNTER, "such calls that the system refused: locked memory, a sandbox")                 \
    X(purge_mistakes, BYTES, COUNTER, "purged, and wanted again within a second")                                     \
    X(threads, COUNT, GAUGE, "threads that use the library")                                                          \
    X(thread_records, COUNT, GAUGE, "the most records of threads that were needed at once")                           \
    X(epochs_open, COUNT, GAUGE, "epochs that are open")                                                              \
    X(epochs_draining, COUNT, GAUGE, "epochs that are closed, and whose survivors keep memory")                       \
    X(epochs_opened, COUNT, COUNTER, "epochs opened, also by units of work and instances")                            \
    X(epochs_closed, COUNT, COUNTER, "epochs closed or released")                                                     \
    X(epochs_drained, COUNT, COUNTER, "closed epochs that had survivors, and are gone")                               \
    X(epoch_bytes, BYTES, COUNTER, "allocated in chunks of epochs, where objects are not counted")                    \
    X(work_units, COUNT, COUNTER, "units of work that ended, whatever the policy")                                    \
    X(limit_refusals, COUNT, COUNTER, "allocations that failed because of the hard limit")                            \
    X(keeper_looks, COUNT, COUNTER, "looks of the keeper")                                                            \
    X(label_limit_refusals, COUNT, COUNTER, "allocations that failed because of the limit of a label")                \
    X(epoch_limit_refusals, COUNT, COUNTER, "allocations that failed because of the limit of an epoch or an instance")

/* The process as the system sees it, and what its RSS is a sum of. */
#define PROCESS_FIGURES(X)                                                                                            \
    X(uptime_ms, MS, GAUGE, "since the library started; in the child of a fork, since it started in the parent")      \
    X(rss_bytes, BYTES, GAUGE, "resident memory of the process; 0: the system does not tell")                         \
    X(peak_rss_bytes, BYTES, GAUGE, "the most that was resident")                                                     \
    X(live, BYTES, GAUGE, "objects")                                                                                  \
    X(waste, BYTES, GAUGE, "free parts of slabs, chunks and large runs")                                              \
    X(caches, BYTES, GAUGE, "free memory that threads keep for their next objects")                                   \
    X(retained, BYTES, GAUGE, "empty memory")                                                                         \
    X(metadata, BYTES, GAUGE, "side tables and records of the library")                                               \
    X(hard_limit_bytes, BYTES, GAUGE, "the hard limit; 0: none")                                                      \
    X(soft_limit_bytes, BYTES, GAUGE, "the soft limit; 0: none")                                                      \
    X(soft_pressure, COUNT, GAUGE, "1: near the soft limit, so nothing waits for reuse and caches are small")         \
    X(container_pressure, COUNT, GAUGE, "1: near the container's limit, with the same effect")

/* Counts of heaps and lists for each class (struct class_sums). */
#define CLASS_COUNTS(X)                                                                                               \
    X(allocations, COUNT, COUNTER, "objects allocated")                                                               \
    X(frees, COUNT, COUNTER, "objects freed")                                                                         \
    X(slabs_new, COUNT, COUNTER, "slabs taken from the depot")                                                        \
    X(slabs_recycled, COUNT, COUNTER, "slabs that emptied and are back in the depot")                                 \
    X(slabs_drained, COUNT, COUNTER, "of these, slabs of epochs that emptied only after the close")                       \
    X(slabs_attached, COUNT, COUNTER, "partly used slabs that a heap attached")                                       \
    X(refills, COUNT, COUNTER, "times that a batch of slots came from a slab")                                        \
    X(refilled, COUNT, COUNTER, "slots in these batches")                                                             \
    X(flushes, COUNT, COUNTER, "times that slots of a magazine or an outbox were given back to slabs")                \
    X(flushed, COUNT, COUNTER, "slots given back by flushes")                                                         \
    X(exchanged, COUNT, COUNTER, "full trays handed to the exchange")                                                 \
    X(from_exchange, COUNT, COUNTER, "full trays taken from the exchange")                                            \
    X(remote_frees, COUNT, COUNTER, "slots freed that the freeing thread may not keep")                               \
    X(harvests, COUNT, COUNTER, "revisit queues that the holder of a list lock worked off")                           \
    X(queue_longest, COUNT, GAUGE, "the most slabs that were on one revisit queue")                                   \
    X(queue_length, COUNT, GAUGE, "slabs that wait on revisit queues")

/* A size class, as far as counts tell. */
#define CLASS_COUNTED(X)                                                                                              \
    X(size, BYTES, GAUGE, "of a slot")                                                                                \
    CLASS_COUNTS(X)                                                                                                   \
    X(misses, COUNT, COUNTER, "allocations and frees that the magazines alone did not serve")                         \
    X(slow_paths, COUNT, COUNTER, "refills, flushes and trays handed to the exchange, together")                      \
    X(live, COUNT, GAUGE, "objects, allocated and not freed")                                                         \
    X(cached_bytes, BYTES, GAUGE, "free slots in caches of threads")                                                  \
    X(slab_bytes, BYTES, GAUGE, "all slabs of the class")

/* A size class, with a look at each of its slabs. */
#define CLASS_FIGURES(X)                                                                                              \
    CLASS_COUNTED(X)                                                                                                  \
    X(slabs_net, COUNT, GAUGE, "slabs that there are")                                                                \
    X(slabs_full, COUNT, GAUGE, "slabs without a free slot. A slot is used if an object or a cache has it")           \
    X(slabs_partial, COUNT, GAUGE, "slabs with free and used slots")                                                  \
    X(slabs_empty, COUNT, GAUGE, "slabs without a used slot: a thread holds them")                                    \
    X(free_bytes, BYTES, GAUGE, "free slots of the slabs")                                                            \
    X(tail_bytes, BYTES, GAUGE, "behind the last slots of the slabs")                                                 \
    X(untouched_bytes, BYTES, GAUGE, "of free_bytes and tail_bytes, known to have no pages")                          \
    X(pages, COUNT, GAUGE, "the system's pages of all slabs")                                                         \
    X(pages_free, COUNT, GAUGE, "pages without a used slot")                                                          \
    X(pages_kept_1, COUNT, GAUGE, "pages that have a free slot and at most one used one: few objects keep them")      \
    X(pages_kept_2, COUNT, GAUGE, "pages that have a free slot and at most two used ones")                            \
    X(pages_kept_4, COUNT, GAUGE, "pages that have a free slot and at most four used ones")

/* A thread. */
#define THREAD_FIGURES(X)                                                                                             \
    X(thread, COUNT, GAUGE, "its number, as gettid tells it")                                                         \
    X(allocations, COUNT, COUNTER,                                                                                    \
      "small objects allocated since the thread first used the library; without those in epochs")                     \
    X(frees, COUNT, COUNTER, "small objects freed since the thread first used the library; without those in epochs")  \
    X(misses, COUNT, COUNTER, "of these, those that its magazines alone did not serve")                               \
    X(refills, COUNT, COUNTER, "times that a batch of slots came from a slab")                                        \
    X(flushes, COUNT, COUNTER, "times that slots were given back to slabs")                                           \
    X(cached_bytes, BYTES, GAUGE, "free slots and large runs that it keeps for its next objects")

/* An epoch: the last members of struct tslab_epoch_stats. */
#define EPOCH_FIGURES(X)                                                                                              \
    X(age_ms, MS, GAUGE, "since it was opened")                                                                       \
    X(closed_ms, MS, GAUGE, "since it was closed; 0 while it is open")                                                \
    X(live_objects, COUNT, GAUGE, "objects; one that is allocated or freed meanwhile may be counted or not")          \
    X(live_bytes, BYTES, GAUGE, "of these objects, in the sizes that they occupy")                                    \
    X(memory_bytes, BYTES, GAUGE, "its slabs, chunks and large runs")                                                 \
    X(recycled_runs, COUNT, COUNTER,                                                                                  \
      "slabs, chunks and large runs that emptied and serve others, since it was opened")                              \
    X(slab_bytes, BYTES, GAUGE, "its slabs, a part of memory_bytes")                                                  \
    X(chunk_bytes, BYTES, GAUGE, "its chunks, a part of memory_bytes")                                                \
    X(large_bytes, BYTES, GAUGE, "its large runs, a part of memory_bytes")                                            \
    X(cached_bytes, BYTES, GAUGE, "free slots that the caches of its threads have, a part of slab_bytes")             \
    X(peak_bytes, BYTES, GAUGE,                                                                                       \
      "the most that memory_bytes was, but for up to 64 KiB a thread: chunks that scopes were filling then")          \
    X(resident_bytes, BYTES, GAUGE,                                                                                   \
      "of memory_bytes, on pages that were handed out and did not go back to the system")                             \
    X(limit_bytes, BYTES, GAUGE, "that it was opened with; 0: none")                                                  \
    X(refusals, COUNT, COUNTER,                                                                                       \
      "allocations that failed because of it, or of the limit of the instance or the label")

/* The epochs with a label. */
#define LABEL_FIGURES(X)                                                                                              \
    X(labels, COUNT, GAUGE,                                                                                           \
      "1. In JSON, an entry behind the first 20 sums up all other labels: its label is empty, and this is how "       \
      "many they are at least")                                                                                       \
    X(epochs, COUNT, GAUGE, "epochs that are open, closing or draining")                                              \
    X(open, COUNT, GAUGE, "epochs that are open")                                                                     \
    X(closing, COUNT, GAUGE, "epochs that are closed, and a thread is inside")                                        \
    X(draining, COUNT, GAUGE, "epochs that are closed, and whose survivors keep memory")                              \
    X(oldest_ms, MS, GAUGE, "since the oldest of them was opened")                                                    \
    X(live_objects, COUNT, GAUGE, "their objects")                                                                    \
    X(live_bytes, BYTES, GAUGE, "of these objects, in the sizes that they occupy")                                    \
    X(memory_bytes, BYTES, GAUGE, "their slabs, chunks and large runs")                                               \
    X(peak_bytes, BYTES, GAUGE,                                                                                       \
      "the peak_bytes of each, added up: these epochs never had more together")                                       \
    X(resident_bytes, BYTES, GAUGE,                                                                                   \
      "of memory_bytes, on pages that were handed out and did not go back to the system")                             \
    X(refused, COUNT, GAUGE, "allocations in them that failed because of a limit, whoever set it")

/* The limit of a label. */
#define LABEL_LIMIT_FIGURES(X)                                                                                        \
    X(limit_bytes, BYTES, GAUGE,                                                                                      \
      "what the epochs with the label may use together (option epoch_limits); 0: there is no limit")                  \
    X(used_bytes, BYTES, GAUGE,                                                                                       \
      "the slabs, chunks and large runs that these epochs have, but for the chunks that scopes are filling")          \
    X(peak_used_bytes, BYTES, GAUGE, "the most that used_bytes was since the label had its first limit")              \
    X(refusals, COUNT, COUNTER, "allocations that failed because of the limit")

/* The accounts: X(name, the term of the RSS that it is in, help). */
#define ACCOUNT_FIGURES(X)                                                                                            \
    X(live_slots, LIVE, "objects in slabs, in the sizes of their classes")                                            \
    X(live_chunks, LIVE, "objects in chunks of epochs, in multiples of 16 bytes")                                     \
    X(live_large, LIVE, "large objects, each up to the end of its last page")                                         \
    X(magazines, CACHES, "free slots in the magazines of threads, and in the tray beside each")                       \
    X(outboxes, CACHES, "free slots that wait to go back to another thread's slabs")                                  \
    X(exchange, CACHES, "free slots in full trays for any thread")                                                    \
    X(claimed, CACHES,                                                                                                \
      "free slots that a thread took from its slab together, and has not yet moved to its magazine")                  \
    X(partial_slabs, WASTE,                                                                                           \
      "free slots of slabs that no thread holds. The untouched ones are in pages that were purged")                   \
    X(attached_slabs, WASTE, "free slots of slabs that a thread allocates from")                                      \
    X(slab_tails, WASTE, "what is behind the last slot of each slab")                                                 \
    X(dead_in_chunks, WASTE,                                                                                          \
      "objects that were freed, and gaps for alignment: a chunk is used again when all of it is empty")               \
    X(unfilled_chunks, WASTE, "what is behind the last object of each chunk")                                         \
    X(warm_chunks, CACHES, "empty chunks that threads keep for the next epochs")                                      \
    X(large_tails, WASTE,                                                                                             \
      "what is behind the last page of a large object; in the checked library, its guard page, too")                  \
    X(hot_runs, CACHES, "runs of freed large objects that threads keep for their next ones")                          \
    X(trapped_runs, WASTE, "memory of released epochs that faults when it is touched")                                \
    X(dirty_runs, RETAINED, "empty memory with pages, which waits for reuse or a purge")                              \
    X(clean_runs, RETAINED, "empty memory without pages: purged, or never used")                                      \
    X(moving_runs, RETAINED,                                                                                          \
      "memory between two uses: a purger works on it, or a thread has just taken it or is about to put it back. "     \
      "0 while nothing runs; in a black box, also what there was no time to look at") \
    X(unopened_units, RETAINED, "mapped at the start, and not needed yet")                                            \
    X(tag_table, METADATA, "the side table of tags")                                                                  \
    X(run_table, METADATA, "the side table of descriptors, with the bitmaps of slabs")                                \
    X(revisit_table, METADATA, "the side table of revisit links")                                     \
    X(code_table, METADATA, "the side table of codes")                                                                \
    X(check_table, METADATA, "the side table of the checked library")                                                 \
    X(tray_records, METADATA, "trays, in use or not: the arrays in which caches keep addresses of slots")             \
    X(thread_records, METADATA, "records of threads, with their magazines")                                           \
    X(heap_records, METADATA, "heaps of epochs that went over to slabs")                                              \
    X(epoch_records, METADATA, "records of epochs, their holds and lists of slabs, and of the samples of a profile")   \
    X(unused_records, METADATA, "rests of mappings for records")

/* clang-format on */

/* The figures of one kind are 64-bit numbers in the order of their list, and so are the structs of them. */
#define FIGURE_MEMBER(name, ...) uint64_t name;
/* Their names in one string, each with a zero behind it, and an empty one at the end. */
#define FIGURE_NAME(name, ...) #name "\0"
#define FIGURE_ONE(name, ...)  +1 /* NOLINT(bugprone-macro-parentheses) */

struct total_figures {
    TOTAL_FIGURES(FIGURE_MEMBER)
};

struct process_figures {
    PROCESS_FIGURES(FIGURE_MEMBER)
};

struct class_figures {
    CLASS_FIGURES(FIGURE_MEMBER)
};

struct thread_figures {
    THREAD_FIGURES(FIGURE_MEMBER)
};

#endif
