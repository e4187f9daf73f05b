/* The numbers that the simulation build makes small, to give bugs a chance: its few threads and steps can reach full
 * tables, used-up generations and wrapped counts. Numbers that derive from these follow by themselves. Size classes
 * have a table for each build (common/size_class.h). */
#ifndef TSLAB_BASE_LIMITS_H
#define TSLAB_BASE_LIMITS_H

#include "base/build.h"

/* Objects of up to this size are slots: a power of two and a cache line (common/size_class.h). In the library that
 * users run as `checked`, objects above 32 KiB have runs of their own, with a page without access behind each. */
#if TSLAB_CHECKED > 1
#define SLOT_MOST 32832
#else
#define SLOT_MOST 262208
#endif

/* clang-format off */
#define LIMIT(name, in_simulation, in_all_other_builds) name = TSLAB_SIM ? (in_simulation) : (in_all_other_builds)
enum {
    /*    name                      simulation  other builds */
    LIMIT(LOCK_SPINS,                        0,           60), /* tries before a thread sleeps on a lock */
    LIMIT(WORD_SLOTS,                        2,           64), /* slots in a word of a slab's bitmap */
    LIMIT(BITMAP_WORDS,                      8,           16), /* words in a slab's bitmap */
    LIMIT(SMALL_MAX,                     16384,    SLOT_MOST), /* bytes of the largest size class */
    LIMIT(MIDDLE_MAX,                    16384,        32832), /* bytes of the largest slot in an epoch */
    LIMIT(SHARED_LINES_BELOW,            16385,           64), /* bytes of slots that no heap but their home may keep */
    LIMIT(TRAY_FIRST,                        2,            4), /* places of the shortest tray */
    LIMIT(TRAY_MOST,                         4,          509), /* places of the longest tray, which is a page */
    LIMIT(MIXED_FROM,                        4,           32), /* slots that tell whether those of several slabs mix */
    LIMIT(HOT_RUNS,                          2,           16), /* hot runs that a heap keeps */
    LIMIT(HOT_RUN_UNITS,                     3,          128), /* units of the longest hot run */
    LIMIT(HOT_UNITS_MIN,                     5,          128), /* units of all hot runs of a heap, if little is used */
    LIMIT(HOT_UNITS,                         5,          512), /* and if much is */
    LIMIT(HOT_SLACK,                         1,            4), /* a hot run is longer than its block by this part at most */
    LIMIT(RESTING,                           1,           16), /* heaps that wait for a thread that begins */
    LIMIT(TRAPPED_RUNS,                      2,         4096), /* runs that the library traps at once */
    LIMIT(TRAPPED_RUNS_CHECKED,              2,         1024), /* larger runs, that the checked library traps */
    LIMIT(SWEEP_STEP_SLABS,                  1,            4), /* slabs that one slow operation looks at in a sweep */
    LIMIT(CHUNK_UNITS,                       1,            4), /* units of a chunk */
    LIMIT(CHUNK_OBJECT_MOST,              4096,        18176), /* bytes of the largest object in a chunk */
    LIMIT(HANDLE_USE_BITS,                   3,           39), /* log2 of the handles that one entry serves in an epoch */
    LIMIT(EPOCH_GENERATION_SHIFT,            7,           22), /* bits of an epoch's index, in its value and its word */
    LIMIT(EPOCH_BLOCK_SHIFT,                 4,            8), /* log2 of the records in a block of epochs */
    LIMIT(EPOCH_SLABS_FROM_KIB,             16,         2048), /* KiB that a hold fills before slabs where objects die */
    LIMIT(LEFT_HOLDS,                        2,            8), /* holds that a thread left, and that keep something, */
    LIMIT(LEFT_KIB,                         20,          256), /* and KiB of free slots and empty chunks in all of these */
    LIMIT(WARM_EPOCHS,                       2,            8), /* records of epochs that a thread keeps for its next ones */
    LIMIT(WARM_SHARED,                       2,           28), /* such records that wait for any thread */
    LIMIT(COUNTED_RUNS,                      1,            8), /* runs of an epoch that a report looks at under its lock */
    LIMIT(REMEMBERED_HOLDS,                  2,            8), /* holds that a thread finds again without a search */
    LIMIT(LABELS_KNOWN,                     24,          256), /* labels that a report of epochs tells apart */
    LIMIT(SAMPLES_MOST,                     16,      1 << 20), /* records of sampled objects */
    LIMIT(SAMPLES_IN_BLOCK,                  2,      1 << 10), /* records in a block */
    LIMIT(SAMPLE_HEADS,                      2,      1 << 15), /* groups of sampled objects with similar addresses */
    LIMIT(STACKS_MOST,                      32,      1 << 14), /* call stacks of samples */
    LIMIT(STACK_HEADS,                       2,      1 << 12), /* groups of stacks with similar hashes */
};
/* clang-format on */

#endif
