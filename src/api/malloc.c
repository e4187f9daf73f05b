/* The names of libc, linked only into the drop-in library. They behave as glibc 2.36 documents and does. Another libc
 * (musl) gets those that it has. */

#include "base/build.h"

#include <tslab/tslab.h>

#include "common/option.h"
#include "malloc/alloc.h"
#include "malloc/engine.h"
#include "malloc/fast.h"
#include "os/fatal.h"
#include "os/os.h"
#include "report/statistics.h"
#include "report/summary.h"
#include "space/trap.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A name that is a call of the engine's function, and its declaration, which older headers lack for some. None may call
 * a name that the program may define. */
#define LIBC_NAME(result, name, parameters, call)                                                                      \
    TSLAB_API result name parameters;                                                                                  \
    TSLAB_API result name parameters                                                                                   \
    {                                                                                                                  \
        call;                                                                                                          \
    }

#if !TSLAB_LINKED_IN
/* Whether an address is only where a program at fixed addresses calls a function that it does not define itself: such a
 * program has an address of its own for each function whose address it takes. */
static bool is_call_of_program(const void *address)
{
#ifdef __GLIBC__
    Dl_info info;
    void *symbol = NULL;
    return dladdr1(address, &info, &symbol, RTLD_DL_SYMENT) != 0 && symbol != NULL &&
           ((const ElfW(Sym) *)symbol)->st_shndx == SHN_UNDEF;
#else
    return address == NULL;
#endif
}
#endif

/* False: a malloc of the program or of another library comes before this one. malloc_usable_size is the fallback:
 * programs rarely take its address, and other mallocs define it. */
static bool is_ours(void)
{
#if TSLAB_LINKED_IN
    return true;
#else
    const void *function = dlsym(RTLD_DEFAULT, "malloc");
    if (is_call_of_program(function)) {
        function = dlsym(RTLD_DEFAULT, "malloc_usable_size");
    }
    Dl_info theirs;
    Dl_info ours;
    return dladdr(function, &theirs) != 0 && dladdr(&heap_serves_malloc, &ours) != 0 &&
           theirs.dli_fbase == ours.dli_fbase;
#endif
}

__attribute__((constructor(102))) static void find_out_whose_malloc(void)
{
    heap_serves_malloc = is_ours();
}

static void *resize_array(void *p, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return tslab_realloc(p, bytes);
}

/* glibc rounds an alignment that is no power of two up to one. */
static void *aligned_as_glibc(size_t alignment, size_t size)
{
    if (alignment > SIZE_MAX / 2 + 1) {
        errno = EINVAL;
        return NULL;
    }
    if (!is_power_of_two(alignment)) {
        alignment = alignment == 0 ? 1 : (size_t)2 << bit_highest(alignment);
    }
    invariant(is_power_of_two(alignment));
    return alloc_aligned(size, alignment);
}

TSLAB_API int posix_memalign(void **where, size_t alignment, size_t size)
{
    if (!is_power_of_two(alignment) || alignment % sizeof(void *) != 0) {
        return EINVAL;
    }
    const int saved = errno;
    void *p = alloc_aligned(size, alignment);
    if (p == NULL) {
        return ENOMEM; /* errno says so, too, as with glibc */
    }
    invariant((uintptr_t)p % alignment == 0);
    errno = saved;
    *where = p;
    return 0;
}

LIBC_NAME(void *, malloc, (size_t size), return fast_alloc(size))
LIBC_NAME(void *, calloc, (size_t count, size_t size), return tslab_calloc(count, size))
LIBC_NAME(void *, realloc, (void *p, size_t size), return tslab_realloc(p, size))
LIBC_NAME(void *, reallocarray, (void *p, size_t count, size_t size), return resize_array(p, count, size))
LIBC_NAME(void *, memalign, (size_t alignment, size_t size), return aligned_as_glibc(alignment, size))
LIBC_NAME(void *, aligned_alloc, (size_t alignment, size_t size), return aligned_as_glibc(alignment, size))
LIBC_NAME(void *, valloc, (size_t size), return aligned_as_glibc(os_page_bytes(), size))
LIBC_NAME(size_t, malloc_usable_size, (void *p), return p == NULL ? 0 : object_usable(p))
LIBC_NAME(void, free, (void *p), fast_free(p))
LIBC_NAME(void, cfree, (void *p), fast_free(p))
LIBC_NAME(void, free_sized, (void *p, size_t size), fast_free_sized(p, size, 1))
LIBC_NAME(void, free_aligned_sized, (void *p, size_t alignment, size_t size), fast_free_sized(p, size, alignment))

#ifdef __GLIBC__
static void *whole_pages(size_t size)
{
    const size_t page = os_page_bytes();
    if (size > SIZE_MAX - page) {
        errno = ENOMEM;
        return NULL;
    }
    invariant(is_power_of_two(page) && round_up(size, page) >= size);
    return aligned_as_glibc(page, round_up(size, page));
}

LIBC_NAME(void *, pvalloc, (size_t size), return whole_pages(size))

/* glibc's second names. A program with a malloc of its own calls them, and may have no free of its own. */
LIBC_NAME(void *, __libc_malloc, (size_t size), return fast_alloc(size))
LIBC_NAME(void *, __libc_calloc, (size_t count, size_t size), return tslab_calloc(count, size))
LIBC_NAME(void *, __libc_realloc, (void *p, size_t size), return tslab_realloc(p, size))
LIBC_NAME(void *, __libc_memalign, (size_t alignment, size_t size), return aligned_as_glibc(alignment, size))
LIBC_NAME(void *, __libc_valloc, (size_t size), return aligned_as_glibc(os_page_bytes(), size))
LIBC_NAME(void *, __libc_pvalloc, (size_t size), return whole_pages(size))
LIBC_NAME(void, __libc_free, (void *p), fast_free(p))

TSLAB_API int malloc_trim(size_t pad)
{
    (void)pad;
    return object_trim() != 0;
}

/* One parameter has a counterpart: with M_TRIM_THRESHOLD = -1 glibc never gives memory back. Any other threshold brings
 * back the option's value from before. All others would change nothing, and are refused. */
TSLAB_API int mallopt(int parameter, int value)
{
    enum { NOT_SET = UINT32_MAX };
    static atomic_u64 before = NOT_SET; /* what the option was */
    if (parameter != M_TRIM_THRESHOLD) {
        return 0;
    }
    (void)engine_start(); /* which reads the options */
    uint64_t now = option_get(OPTION_PURGE);
    if (value == -1 && now != PURGE_NEVER) {
        store_plain(&before, now);
        store_plain(&option_values[OPTION_PURGE], PURGE_NEVER);
    } else if (value != -1 && load_plain(&before) != NOT_SET) {
        now = swap_acquire(&before, NOT_SET);
        store_plain(&option_values[OPTION_PURGE], now);
    }
    return 1;
}

/* Headers of a glibc before 2.33 do not have this. */
#if !__GLIBC_PREREQ(2, 33)
struct mallinfo2 {
    size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};
TSLAB_API struct mallinfo2 mallinfo2(void);
#endif

/* The process's heap as glibc divides one. The chunks of epochs count as used. */
struct usage {
    size_t total, cached, rest, dirty; /* `rest` is what is free beside the caches, `dirty` a part of that */
    size_t mapped;                     /* addresses */
    size_t threads;
};

static struct usage usage_now(void)
{
    struct total_figures stats;
    stats_totals(&stats);
    /* With freed large blocks that threads keep, and without what is trapped. */
    const size_t trapped = counter_get(&trap_units) << UNIT_SHIFT;
    const size_t total = not_below_zero(stats.committed_bytes - stats.clean_bytes, trapped);
    const size_t used = min_size(stats.live_bytes + stats.chunk_bytes + stats.large_bytes, total);
    const size_t cached = min_size(stats.cached_bytes, total - used);
    invariant(used + cached <= total);
    return (struct usage){ .total = total,
                           .cached = cached,
                           .rest = total - used - cached,
                           .dirty = stats.dirty_bytes,
                           .mapped = stats.committed_bytes,
                           .threads = stats.threads };
}

TSLAB_API struct mallinfo2 mallinfo2(void)
{
    const struct usage usage = usage_now();
    return (struct mallinfo2){
        .arena = usage.total,
        .uordblks = usage.total - usage.cached - usage.rest,
        .fordblks = usage.cached + usage.rest,
        .fsmblks = usage.cached,
        .keepcost = usage.dirty,
    };
}

static int to_int(size_t bytes)
{
    return bytes > INT_MAX ? INT_MAX : (int)bytes;
}

TSLAB_API struct mallinfo mallinfo(void)
{
    const struct mallinfo2 wide = mallinfo2();
    return (struct mallinfo){
        .arena = to_int(wide.arena),
        .uordblks = to_int(wide.uordblks),
        .fordblks = to_int(wide.fordblks),
        .fsmblks = to_int(wide.fsmblks),
        .keepcost = to_int(wide.keepcost),
    };
}

LIBC_NAME(void, malloc_stats, (void), (void)summary_print(STDERR_FILENO))

/* The elements stand where glibc has them: of each heap, of which there is one, and then of the process. Programs look
 * for them behind the last </heap>. No block has a mapping of its own. No peak is kept, so `max` is what there is now.
 */
TSLAB_API int malloc_info(int options, FILE *stream)
{
    if (options != 0) {
        return EINVAL;
    }
    const struct usage usage = usage_now();
    invariant(usage.rest <= usage.total && usage.total <= usage.mapped);
    for (unsigned i = 0; i < 2; i++) {
        fprintf(stream,
                "%s"
                "<total type=\"fast\" count=\"%zu\" size=\"%zu\"/>\n"
                "<total type=\"rest\" count=\"%d\" size=\"%zu\"/>\n"
                "%s"
                "<system type=\"current\" size=\"%zu\"/>\n"
                "<system type=\"max\" size=\"%zu\"/>\n"
                "<aspace type=\"total\" size=\"%zu\"/>\n"
                "<aspace type=\"mprotect\" size=\"%zu\"/>\n"
                "%s",
                i == 0 ? "<malloc version=\"1\">\n<heap nr=\"0\">\n<sizes>\n</sizes>\n" : "", usage.threads,
                usage.cached, usage.rest != 0, usage.rest,
                i == 0 ? "" : "<total type=\"mmap\" count=\"0\" size=\"0\"/>\n", usage.total, usage.total, usage.mapped,
                usage.mapped, i == 0 ? "</heap>\n" : "</malloc>\n");
    }
    return 0;
}
#endif
