/* jemalloc's names, linked only into the drop-in library: programs that ask jemalloc how much memory they have, or
 * allocate by its names, get true answers while this library serves their malloc. The keys of mallctl are a table, from
 * which tools/figures.py makes that of docs/statistics.md. A key that is not in it does not exist (ENOENT), as with a
 * jemalloc that was built without it.
 *
 * All objects lie in arena 0. A program that asks for an arena or a thread cache gets number 1 of either, and it stays
 * empty, so that flags which name them change nothing. Figures are of the last epoch: of one moment, without a lock
 * that a free takes, and without a look at each object. */

#include "base/build.h"

#include <tslab/tslab.h>

#include "audit/census.h"
#include "common/option.h"
#include "epoch/ending.h"
#include "malloc/alloc.h"
#include "malloc/engine.h"
#include "malloc/fast.h"
#include "os/fatal.h"
#include "os/os.h"
#include "os/text.h"
#include "report/statistics.h"
#include "slab/chunk.h"
#include "space/limit.h"
#include "space/trap.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

/* Weak, because a program that has the archive inside may have functions of these names: libc has none of them. */
#define JEMALLOC_NAME(result, name, parameters)                                                                        \
    TSLAB_API __attribute__((weak)) result name parameters;                                                            \
    TSLAB_API result name parameters

/* Allocation. The flags hold the logarithm of the alignment, whether memory is zeroed, a cache and an arena. */
enum { FLAG_ALIGNMENT = 63, FLAG_ZERO = 64 };

static size_t flag_alignment(int flags)
{
    return (size_t)1 << (flags & FLAG_ALIGNMENT);
}

JEMALLOC_NAME(void *, mallocx, (size_t size, int flags))
{
    const size_t alignment = flag_alignment(flags);
    const bool zero = (flags & FLAG_ZERO) != 0;
    if (alignment <= GRANULE_BYTES) {
        return zero ? alloc_zero(size) : fast_alloc(size);
    }
    void *const p = alloc_aligned(size, alignment);
    invariant((uintptr_t)p % alignment == 0);
    if (p != NULL && zero) {
        alloc_clear(p, size);
    }
    return p;
}

static void *resize_aligned(void *p, size_t size, size_t alignment)
{
    /* A large run starts at a unit, wherever it moves. */
    if (alignment <= GRANULE_BYTES || (size > SMALL_MAX && alignment <= UNIT_BYTES)) {
        return alloc_resized(p, size);
    }
    const size_t usable = object_usable(p);
    if (!GUARDED && (uintptr_t)p % alignment == 0 && size <= usable && size >= usable / 2) {
        return p;
    }
    void *const moved = alloc_aligned(size, alignment);
    if (moved != NULL) {
        memcpy(moved, p, min_size(usable, size));
        fast_free(p);
    }
    invariant((uintptr_t)moved % alignment == 0);
    return moved;
}

JEMALLOC_NAME(void *, rallocx, (void *p, size_t size, int flags))
{
    const bool zero = (flags & FLAG_ZERO) != 0;
    const size_t before = zero ? object_usable(p) : 0;
    void *const moved = resize_aligned(p, max_size(size, 1), flag_alignment(flags));
    invariant((uintptr_t)moved % flag_alignment(flags) == 0);
    if (moved != NULL && zero && object_usable(moved) > before) {
        memset((char *)moved + before, 0, object_usable(moved) - before);
    }
    return moved;
}

/* Tells the size, and never changes it: a program has to be content with that. */
JEMALLOC_NAME(size_t, xallocx, (void *p, size_t size, size_t extra, int flags))
{
    (void)size;
    (void)extra;
    (void)flags;
    return object_usable(p);
}

JEMALLOC_NAME(size_t, sallocx, (const void *p, int flags))
{
    (void)flags;
    return object_usable(p);
}

JEMALLOC_NAME(void, dallocx, (void *p, int flags))
{
    fast_free_sized(p, SIZE_MAX, flag_alignment(flags));
}

JEMALLOC_NAME(void, sdallocx, (void *p, size_t size, int flags))
{
    fast_free_sized(p, size, flag_alignment(flags));
}

/* In an epoch an object has at least what was asked for, in whole granules: it may lie in a chunk. */
JEMALLOC_NAME(size_t, nallocx, (size_t size, int flags))
{
    const size_t alignment = flag_alignment(flags);
    if (size > PTRDIFF_MAX || alignment > PTRDIFF_MAX) {
        return 0;
    }
    if (GUARDED) {
        return size;
    }
    if (front_current->innermost != &hold_none) {
        return round_up(max_size(size, 1), GRANULE_BYTES);
    }
    const unsigned class = class_of_aligned(size, alignment);
    invariant(class < CLASS_LIMIT && class_geometry[class].size % alignment == 0);
    return class != CLASS_NONE ? class_geometry[class].size : round_up(max_size(size, 1), os_page_bytes());
}

/* The figures of an epoch. Each thread that begins one takes its number before it counts, and publishes unless one that
 * began later has done so. So what a program did before its call is in the figures after it. */
struct jemalloc_figures {
    uint64_t epoch;
    uint64_t allocated, large, active, metadata, resident, mapped, retained, dirty;
    uint64_t live[CLASS_LIMIT], slabs[CLASS_LIMIT];
};

enum { FIGURE_WORDS = sizeof(struct jemalloc_figures) / sizeof(uint64_t) };
static atomic_u64 jemalloc_published[FIGURE_WORDS];
static atomic_u64 jemalloc_epochs_begun;
static struct lock jemalloc_publishing = LOCK_INIT(RANK_LABELS);

/* The bytes of the objects in chunks, and of the chunks that have codes in the side table. Only a program that uses
 * epochs has some. */
static uint64_t live_in_chunks(uint64_t *coded_bytes)
{
    uint64_t bytes = 0;
    for (struct census_run run = { .first = 0 }; census_next(&run);) {
        size_t live = 0;
        if (run.kind == CENSUS_CHUNK) {
            (void)chunk_count(run.first, &live);
            *coded_bytes += chunk_has_table(run.first) ? CHUNK_BYTES : 0;
        }
        invariant(live <= CHUNK_BYTES);
        bytes += live;
    }
    return bytes;
}

/* The engine's records, and what is written of the side tables: the entries of units in use, or dirty. Of a large run
 * only the first descriptor is. */
static uint64_t metadata_written(const struct total_figures *totals, uint64_t coded_bytes)
{
    const uint64_t used = totals->slab_bytes + totals->chunk_bytes + totals->dirty_bytes;
    const uint64_t entries = arena_tables[TABLE_TAGS].unit_bytes + arena_tables[TABLE_PAGES].unit_bytes;
    return totals->metadata_bytes + (((used + totals->large_bytes) >> UNIT_SHIFT) * entries) +
           (used >> UNIT_SHIFT) * arena_tables[TABLE_RUNS].unit_bytes +
           (coded_bytes >> UNIT_SHIFT) * arena_tables[TABLE_CODES].unit_bytes;
}

static void take_class(void *figures, unsigned class, const struct class_figures *counted)
{
    struct jemalloc_figures *const taken = figures;
    invariant(class != CLASS_NONE && class < CLASS_LIMIT);
    taken->live[class] = counted->live;
    taken->slabs[class] = counted->slab_bytes / ((uint64_t)class_geometry[class].units << UNIT_SHIFT);
}

static void take_figures(struct jemalloc_figures *figures)
{
    struct total_figures totals;
    stats_totals_seen(&totals, take_class, figures);
    const size_t page = os_page_bytes();
    const uint64_t used = totals.slab_bytes + totals.chunk_bytes + totals.large_bytes;
    const uint64_t gone = load_relaxed(&depot_usage.gone_pages) * page;
    figures->large = totals.large_bytes;
    uint64_t coded = 0;
    figures->allocated =
        totals.live_bytes + totals.large_bytes + (totals.chunk_bytes == 0 ? 0 : live_in_chunks(&coded));
    figures->active = round_up(max_size(not_below_zero(used, gone), figures->allocated), page);
    figures->metadata = round_up(metadata_written(&totals, coded), page);
    figures->resident = max_size(limit_footprint() << UNIT_SHIFT, figures->active) + figures->metadata;
    figures->mapped = max_size(used, figures->active) + figures->metadata;
    figures->retained = totals.clean_bytes;
    figures->dirty = totals.dirty_bytes;
    invariant(figures->large <= figures->allocated && figures->allocated <= figures->active);
    invariant(figures->active <= figures->resident && figures->active <= figures->mapped);
}

/* False: no memory for the thread's record. */
static bool begin_epoch(void)
{
    struct thread *const thread = current_thread_get();
    if (thread == NULL) {
        return false;
    }
    struct jemalloc_figures now;
    const uint64_t *const words = (const uint64_t *)&now;
    now.epoch = fetch_add_seq_cst(&jemalloc_epochs_begun, 1) + 1;
    take_figures(&now);
    invariant(now.epoch != 0 && sizeof now == sizeof jemalloc_published);
    gate_lock(&thread->gate); /* no fork finds the lock taken */
    lock_acquire(&jemalloc_publishing);
    if (load_plain(&jemalloc_published[0]) < now.epoch) {
        for (unsigned i = 0; i < FIGURE_WORDS; i++) {
            store_plain(&jemalloc_published[i], words[i]);
        }
    }
    lock_release(&jemalloc_publishing);
    gate_unlock(&thread->gate);
    current_thread_put(thread);
    return true;
}

#define FIGURE(member) load_plain(&jemalloc_published[offsetof(struct jemalloc_figures, member) / sizeof(uint64_t)])

/* Settings that jemalloc has in another form. */

static uint64_t decay_ms(void)
{
    const unsigned purge = option_choice(OPTION_PURGE);
    return purge == PURGE_NEVER ? UINT64_MAX : purge == PURGE_EAGER ? 0 : option_get(OPTION_PURGE_DELAY_MS);
}

static int set_decay(int64_t ms)
{
    enum { DECAY_MOST_MS = 3600000 };
    if (ms < -1 || ms > DECAY_MOST_MS) {
        return EFAULT;
    }
    if (ms > 0) {
        store_plain(&option_values[OPTION_PURGE_DELAY_MS], (uint64_t)ms);
    }
    store_plain(&option_values[OPTION_PURGE], ms < 0 ? PURGE_NEVER : ms == 0 ? PURGE_EAGER : PURGE_ADAPTIVE);
    return 0;
}

/* Gives back what the calling thread caches. */
static int flush_caches(void)
{
    struct thread *const thread = current_thread_get();
    if (thread == NULL) {
        return EAGAIN;
    }
    gate_lock(&thread->gate);
    heap_empty(&thread->heap);
    ending_unlock_gate(thread);
    current_thread_put(thread);
    return 0;
}

#define TEXT(string)                       ((uintptr_t)(string))
#define VERSION_PARTS(major, minor, patch) "tslab " #major "." #minor "." #patch
#define VERSION_OF(...)                    VERSION_PARTS(__VA_ARGS__)
#define VERSION_NAME                       VERSION_OF(TSLAB_VERSION_MAJOR, TSLAB_VERSION_MINOR, TSLAB_VERSION_PATCH)

/* The arena and the thread cache that programs get, how many arenas there are, which number also means all of them, and
 * jemalloc's number for all. */
enum { ARENA_EMPTY = 1, CACHE_EMPTY = 1, ARENAS = 2, ARENAS_ALL = 4096, SIZE_CLASSES = CLASS_LIMIT - 1 };

/* Of an arena without objects all figures are 0. */
#define OF_ARENA(figure) (at->arena == ARENA_EMPTY ? 0 : (figure))
#define BIN              (&class_geometry[at->bin + 1])

/* clang-format off */

/* X(KEY, name, type, access, value, help). In a name <i> is the number of an arena, and <j> that of a bin. `at` has
 * both. */
#define JEMALLOC_KEYS(X)                                                                                              \
    X(VERSION, "version", TEXT, READ, TEXT(VERSION_NAME), "`tslab` and its version")                                  \
    X(EPOCH, "epoch", UINT64, READ | WRITE, FIGURE(epoch), "how often it was written: a write takes all figures anew") \
    X(BACKGROUND_THREAD, "background_thread", BOOL, READ | WRITE, option_get(OPTION_KEEPER) != 0,                     \
      "whether the keeper may run (option `keeper`); no other value can be written (EPERM)")                          \
    X(CONFIG_MALLOC_CONF, "config.malloc_conf", TEXT, READ, TEXT(""), "empty: options have other names")              \
    X(CONFIG_PROF, "config.prof", BOOL, READ, 0, "false: the profiler is another one")                                \
    X(CONFIG_STATS, "config.stats", BOOL, READ, 1, "true")                                                            \
    X(OPT_ABORT, "opt.abort", BOOL, READ, 0, "false")                                                                 \
    X(OPT_BACKGROUND_THREAD, "opt.background_thread", BOOL, READ, option_get(OPTION_KEEPER) != 0, "as without `opt`") \
    X(OPT_DIRTY_DECAY_MS, "opt.dirty_decay_ms", SSIZE, READ, decay_ms(), "as `arenas.dirty_decay_ms`")                \
    X(OPT_MUZZY_DECAY_MS, "opt.muzzy_decay_ms", SSIZE, READ, 0, "0: there are no such pages")                         \
    X(OPT_NARENAS, "opt.narenas", UNSIGNED, READ, 1, "1: all threads share one")                                      \
    X(OPT_PROF, "opt.prof", BOOL, READ, 0, "false")                                                                   \
    X(OPT_TCACHE, "opt.tcache", BOOL, READ, option_get(OPTION_MAGAZINES) != 0, "whether threads have caches")         \
    X(OPT_ZERO, "opt.zero", BOOL, READ, 0, "false")                                                                   \
    X(OPT_ZERO_REALLOC, "opt.zero_realloc", TEXT, READ, TEXT("free"), "free")                                         \
    X(THREAD_TCACHE_FLUSH, "thread.tcache.flush", VOID, 0, 0, "gives back what the calling thread caches")            \
    X(TCACHE_CREATE, "tcache.create", UNSIGNED, READ, CACHE_EMPTY, "1, always: that cache stays empty")               \
    X(TCACHE_FLUSH, "tcache.flush", UNSIGNED, WRITE, 0, "nothing happens")                                            \
    X(TCACHE_DESTROY, "tcache.destroy", UNSIGNED, WRITE, 0, "nothing happens")                                        \
    X(ARENA_PURGE, "arena.<i>.purge", VOID, 0, 0, "gives back what can be given back, as `tslab_trim` does")          \
    X(ARENA_DECAY, "arena.<i>.decay", VOID, 0, 0, "the same")                                                         \
    X(ARENA_DESTROY, "arena.<i>.destroy", VOID, 0, 0, "of arena 1 alone: nothing happens")                            \
    X(ARENA_DIRTY_DECAY_MS, "arena.<i>.dirty_decay_ms", SSIZE, READ | WRITE, decay_ms(),                              \
      "as `arenas.dirty_decay_ms`; that of arena 1 changes nothing")                                                  \
    X(ARENA_MUZZY_DECAY_MS, "arena.<i>.muzzy_decay_ms", SSIZE, READ | WRITE, 0, "0; a write changes nothing")         \
    X(ARENAS_NARENAS, "arenas.narenas", UNSIGNED, READ, ARENAS, "2: 0 has all objects, and 1 none")                   \
    X(ARENAS_DIRTY_DECAY_MS, "arenas.dirty_decay_ms", SSIZE, READ | WRITE, decay_ms(),                                \
      "the option `purge`: -1 is never, 0 eager, more adaptive with that `purge_delay_ms`, up to an hour")            \
    X(ARENAS_MUZZY_DECAY_MS, "arenas.muzzy_decay_ms", SSIZE, READ | WRITE, 0, "0; a write changes nothing")           \
    X(ARENAS_QUANTUM, "arenas.quantum", SIZE, READ, GRANULE_BYTES, "all objects are aligned to it")                   \
    X(ARENAS_PAGE, "arenas.page", SIZE, READ, os_page_bytes(), "the system's page")                                   \
    X(ARENAS_NBINS, "arenas.nbins", UNSIGNED, READ, SIZE_CLASSES, "the number of size classes")                       \
    X(ARENAS_BIN_SIZE, "arenas.bin.<j>.size", SIZE, READ, BIN->size, "of an object of the class")                     \
    X(ARENAS_BIN_NREGS, "arenas.bin.<j>.nregs", UINT32, READ, BIN->slots, "objects in a slab")                        \
    X(ARENAS_BIN_SLAB_SIZE, "arenas.bin.<j>.slab_size", SIZE, READ, (uint64_t)BIN->units << UNIT_SHIFT, "of a slab")  \
    X(ARENAS_CREATE, "arenas.create", UNSIGNED, READ, ARENA_EMPTY, "1, always: that arena stays empty")               \
    X(STATS_ALLOCATED, "stats.allocated", SIZE, READ, FIGURE(allocated), "objects, in the sizes that they occupy")    \
    X(STATS_ACTIVE, "stats.active", SIZE, READ, FIGURE(active),                                                       \
      "slabs, chunks and large objects, without pages that were given back")                                          \
    X(STATS_METADATA, "stats.metadata", SIZE, READ, FIGURE(metadata), "records and written entries of side tables")   \
    X(STATS_RESIDENT, "stats.resident", SIZE, READ, FIGURE(resident),                                                 \
      "active, metadata, cached large objects, and empty memory with pages: at most, as some may be untouched")       \
    X(STATS_MAPPED, "stats.mapped", SIZE, READ, FIGURE(mapped), "slabs, chunks, large objects and metadata")          \
    X(STATS_RETAINED, "stats.retained", SIZE, READ, FIGURE(retained), "empty memory without pages")                   \
    X(STATS_ARENAS_PACTIVE, "stats.arenas.<i>.pactive", SIZE, READ, OF_ARENA(FIGURE(active)) / os_page_bytes(),       \
      "`stats.active` in pages")                                                                                      \
    X(STATS_ARENAS_PDIRTY, "stats.arenas.<i>.pdirty", SIZE, READ, OF_ARENA(FIGURE(dirty)) / os_page_bytes(),          \
      "pages of empty memory")                                                                                        \
    X(STATS_ARENAS_PMUZZY, "stats.arenas.<i>.pmuzzy", SIZE, READ, 0, "0: there are no such pages")                    \
    X(STATS_ARENAS_SMALL, "stats.arenas.<i>.small.allocated", SIZE, READ,                                             \
      OF_ARENA(not_below_zero(FIGURE(allocated), FIGURE(large))), "small objects")                                    \
    X(STATS_ARENAS_LARGE, "stats.arenas.<i>.large.allocated", SIZE, READ, OF_ARENA(FIGURE(large)), "large objects")   \
    X(STATS_ARENAS_CURREGS, "stats.arenas.<i>.bins.<j>.curregs", SIZE, READ, OF_ARENA(FIGURE(live[at->bin + 1])),     \
      "objects of the class")                                                                                         \
    X(STATS_ARENAS_CURSLABS, "stats.arenas.<i>.bins.<j>.curslabs", SIZE, READ, OF_ARENA(FIGURE(slabs[at->bin + 1])),  \
      "slabs of the class")

/* clang-format on */

enum ctl_type { CTL_VOID, CTL_BOOL, CTL_UNSIGNED, CTL_UINT32, CTL_SIZE, CTL_SSIZE, CTL_UINT64, CTL_TEXT };
enum { READ = 1, WRITE = 2 };

#define CTL_CONSTANT(key, ...) CTL_##key,
enum ctl_key { JEMALLOC_KEYS(CTL_CONSTANT) CTL_KEYS };

static const struct ctl_row {
    const char *name;
    uint8_t type, access;
} ctl_rows[CTL_KEYS] = {
#define CTL_ROW(key, name, type, access, value, help) { (name), CTL_##type, (access) },
    JEMALLOC_KEYS(CTL_ROW)
};

/* A key, and the numbers in its name. A mib has the key first, and those numbers in their places. */
enum { MIB_MOST = 7 };
struct ctl_place {
    enum ctl_key key;
    size_t arena, bin;
};

static uint64_t ctl_value(const struct ctl_place *at)
{
#define CTL_VALUE(key, name, type, access, value, help)                                                                \
    case CTL_##key:                                                                                                    \
        return (uint64_t)(value);
    invariant(at->key < CTL_KEYS && at->bin < SIZE_CLASSES);
    switch (at->key) {
        JEMALLOC_KEYS(CTL_VALUE) /* NOLINT(bugprone-branch-clone): many keys have the value 0 */
    case CTL_KEYS:
        break;
    }
    return 0;
}

static size_t ctl_bytes(enum ctl_type type)
{
    return type == CTL_VOID ? 0 : type == CTL_BOOL ? 1 : type <= CTL_UINT32 ? sizeof(uint32_t) : sizeof(uint64_t);
}

/* Reads the numbers of a name into mib, and returns how many parts the name has. 0: it is another one. */
static size_t ctl_match(const char *pattern, const char *name, size_t *mib)
{
    for (size_t depth = 0;; depth++) {
        invariant(depth < MIB_MOST);
        mib[depth] = 0;
        if (*pattern == '<') {
            const char *const digits = name;
            while (*name >= '0' && *name <= '9' && mib[depth] <= UINT16_MAX) {
                mib[depth] = mib[depth] * 10 + (size_t)(*name++ - '0');
            }
            pattern += strlen("<i>");
            if (name == digits) {
                return 0;
            }
        }
        while (*pattern == *name && *name != 0 && *name != '.') {
            pattern++;
            name++;
        }
        if (*pattern != *name) {
            return 0;
        }
        if (*name == 0) {
            return depth + 1;
        }
        pattern++;
        name++;
    }
}

/* Finds the key that a mib names, and its arena and bin. False: no key has this mib, or it numbers an arena or a bin
 * that is not there. */
static bool ctl_find(const size_t *mib, size_t depth, struct ctl_place *at)
{
    if (depth == 0 || mib[0] >= CTL_KEYS || !heap_serves_malloc) {
        return false;
    }
    *at = (struct ctl_place){ .key = (enum ctl_key)mib[0] };
    size_t parts = 1;
    for (const char *name = ctl_rows[mib[0]].name; *name != 0; name++) {
        parts += *name == '.';
        if (*name == '<' && parts <= depth) {
            *(name[1] == 'i' ? &at->arena : &at->bin) = mib[parts - 1];
        }
    }
    invariant(parts <= MIB_MOST);
    return parts == depth && (at->arena <= ARENAS || at->arena == ARENAS_ALL) && at->bin < SIZE_CLASSES;
}

/* The mib of a name. Returns its length; 0: there is no such key. */
static size_t ctl_named(const char *name, size_t *mib, struct ctl_place *at)
{
    size_t depth = 0;
    unsigned key = 0;
    while (key < CTL_KEYS && (depth = ctl_match(ctl_rows[key].name, name, mib)) == 0) {
        key++;
    }
    mib[0] = key;
    return ctl_find(mib, depth, at) ? depth : 0;
}

/* Does what a key without a value is for, or what a value does that is written. */
static int ctl_do(const struct ctl_place *at, uint64_t value)
{
    switch (at->key) {
    case CTL_BACKGROUND_THREAD:
        return value == ctl_value(at) ? 0 : EPERM;
    case CTL_THREAD_TCACHE_FLUSH:
        return flush_caches();
    case CTL_TCACHE_FLUSH:
    case CTL_TCACHE_DESTROY:
        return value == CACHE_EMPTY ? 0 : EFAULT;
    case CTL_ARENA_DESTROY:
        return at->arena == ARENA_EMPTY ? 0 : EFAULT;
    case CTL_ARENA_DECAY:
    case CTL_ARENA_PURGE:
        (void)(at->arena == ARENA_EMPTY ? 0 : object_trim());
        return 0;
    case CTL_ARENA_DIRTY_DECAY_MS:
    case CTL_ARENAS_DIRTY_DECAY_MS:
        return at->arena == ARENA_EMPTY ? 0 : set_decay((int64_t)value);
    default:
        return 0;
    }
}

/* Numbers of all sizes begin with their lowest byte (magazine.h). */
static int ctl_act(const struct ctl_place *at, void *old, size_t *old_bytes, const void *new, size_t new_bytes)
{
    const struct ctl_row *const row = &ctl_rows[at->key];
    const size_t bytes = ctl_bytes((enum ctl_type)row->type);
    const bool reads = old != NULL || old_bytes != NULL, writes = new != NULL || new_bytes != 0;
    uint64_t given = 0;
    if ((reads && (row->access & READ) == 0) || (writes && (row->access & WRITE) == 0)) {
        return EPERM;
    }
    if (new != NULL && new_bytes != bytes) {
        return EINVAL;
    }
    (void)engine_start(); /* which reads the options */
    const bool is_over = (at->key == CTL_EPOCH && new != NULL) || load_plain(&jemalloc_published[0]) == 0;
    if (is_over && !begin_epoch()) {
        return EAGAIN;
    }
    if (old != NULL && old_bytes != NULL) {
        const uint64_t value = ctl_value(at);
        const size_t told = min_size(*old_bytes, bytes);
        memcpy(old, &value, told);
        if (*old_bytes != bytes) {
            *old_bytes = told;
            return EINVAL;
        }
    }
    invariant(bytes <= sizeof given);
    if (new != NULL) {
        memcpy(&given, new, bytes);
    }
    return new != NULL || row->access == 0 ? ctl_do(at, given) : 0;
}

JEMALLOC_NAME(int, mallctl, (const char *name, void *old, size_t *old_bytes, void *new, size_t new_bytes))
{
    size_t mib[MIB_MOST];
    struct ctl_place at;
    return ctl_named(name, mib, &at) == 0 ? ENOENT : ctl_act(&at, old, old_bytes, new, new_bytes);
}

JEMALLOC_NAME(int, mallctlnametomib, (const char *name, size_t *mib, size_t *depth))
{
    size_t all[MIB_MOST];
    struct ctl_place at;
    const size_t parts = ctl_named(name, all, &at);
    if (parts == 0) {
        return ENOENT;
    }
    invariant(parts <= MIB_MOST && all[0] < CTL_KEYS);
    *depth = min_size(*depth, parts);
    memcpy(mib, all, *depth * sizeof *mib);
    return 0;
}

JEMALLOC_NAME(int, mallctlbymib,
              (const size_t *mib, size_t depth, void *old, size_t *old_bytes, void *new, size_t new_bytes))
{
    struct ctl_place at;
    return ctl_find(mib, depth, &at) ? ctl_act(&at, old, old_bytes, new, new_bytes) : ENOENT;
}

static void text_value(struct text *text, const struct ctl_place *at)
{
    const unsigned type = ctl_rows[at->key].type;
    const uint64_t value = ctl_value(at);
    const bool is_negative = type == CTL_SSIZE && (int64_t)value < 0;
    if (type == CTL_TEXT) {
        text_string(text, "\"");
        text_string(text, (const char *)(uintptr_t)value);
        text_string(text, "\"");
    } else if (type == CTL_BOOL) {
        text_string(text, value != 0 ? "true" : "false");
    } else {
        text_string(text, is_negative ? "-" : "");
        text_number(text, is_negative ? -value : value);
    }
}

static void write_to_stderr(void *opaque, const char *string)
{
    (void)opaque;
    (void)os_write(STDERR_FILENO, string, strlen(string));
}

/* The keys whose names have no numbers, in a line each. As JSON, those of "stats", where jemalloc has them. */
JEMALLOC_NAME(void, malloc_stats_print, (void (*write)(void *, const char *), void *opaque, const char *options))
{
    const bool json = options != NULL && strchr(options, 'J') != NULL;
    const char *const prefix = json ? "stats." : "", *before = json ? "\"" : "";
    char line[256];
    write = write != NULL ? write : write_to_stderr;
    if (heap_serves_malloc && begin_epoch()) {
        write(opaque, json ? "{\"jemalloc\":{\"stats\":{" : "___ Statistics of tslab by jemalloc's names ___\n");
        for (struct ctl_place at = { .key = 0 }; at.key < CTL_KEYS; at.key++) {
            const char *const name = ctl_rows[at.key].name;
            struct text text = { .buffer = line, .capacity = sizeof line - 1 };
            if ((ctl_rows[at.key].access & READ) != 0 && strncmp(name, prefix, strlen(prefix)) == 0 &&
                strchr(name, '<') == NULL && strstr(name, ".create") == NULL) {
                text_string(&text, before);
                text_string(&text, name + strlen(prefix));
                text_string(&text, json ? "\":" : ": ");
                text_value(&text, &at);
                text_string(&text, json ? "" : "\n");
                invariant(text.length < sizeof line);
                line[text.length] = 0;
                write(opaque, line);
                before = json ? ",\"" : "";
            }
        }
        write(opaque, json ? "}}}\n" : "___ End ___\n");
    }
}
