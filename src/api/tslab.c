#include <tslab/tslab.h>

#include "core/fast.h"
#include "core/option.h"
#include "core/stats.h"

#include <errno.h>
#include <unistd.h>

TSLAB_API void *tslab_malloc(size_t size)
{
    void *p = fast_alloc(size);
    if (unlikely(p == NULL)) {
        errno = ENOMEM;
    }
    return p;
}

TSLAB_API void *tslab_calloc(size_t count, size_t size)
{
    size_t bytes;
    void *p = __builtin_mul_overflow(count, size, &bytes) ? NULL : object_alloc_zero(bytes);
    if (unlikely(p == NULL)) {
        errno = ENOMEM;
    }
    return p;
}

TSLAB_API void *tslab_realloc(void *p, size_t size)
{
    if (p != NULL && size == 0) {
        fast_free(p);
        return NULL;
    }
    void *q = p == NULL ? fast_alloc(size) : object_resize(p, size);
    if (unlikely(q == NULL)) {
        errno = ENOMEM;
    }
    return q;
}

TSLAB_API void *tslab_aligned_alloc(size_t alignment, size_t size)
{
    if (!is_power_of_two(alignment)) {
        errno = EINVAL;
        return NULL;
    }
    void *p = object_alloc_aligned(size, alignment);
    if (unlikely(p == NULL)) {
        errno = ENOMEM;
    }
    return p;
}

TSLAB_API void tslab_free(void *p)
{
    fast_free(p);
}

TSLAB_API size_t tslab_usable_size(const void *p)
{
    return p == NULL ? 0 : object_usable(p);
}

TSLAB_API size_t tslab_trim(void)
{
    return object_trim();
}

TSLAB_API void tslab_stats_get(struct tslab_stats *stats)
{
    stats_get(stats);
}

TSLAB_API void tslab_stats_print(int fd)
{
    stats_print(fd);
}

TSLAB_API const char *tslab_version(void)
{
    return TSLAB_VERSION_STRING;
}

__attribute__((destructor)) static void print_at_exit(void)
{
    if (option_get(OPTION_STATS) != 0) {
        stats_print(STDERR_FILENO);
    }
}
