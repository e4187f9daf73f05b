/* malloc under this library's own names, and what the statuses of all calls are called. */
#include "base/build.h"
#include "malloc/alloc.h"
#include "malloc/current_thread.h"
#include "malloc/fast.h"
#include "space/limit.h"

#include <errno.h>
#include <tslab/tslab.h>

TSLAB_API void *tslab_malloc(size_t size)
{
    return fast_alloc(size);
}

TSLAB_API void *tslab_calloc(size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return alloc_zero(bytes);
}

TSLAB_API void *tslab_realloc(void *p, size_t size)
{
    if (p == NULL) {
        return fast_alloc(size);
    }
    if (size == 0) {
        fast_free(p);
        return NULL;
    }
    return alloc_resized(p, size);
}

TSLAB_API void *tslab_aligned_alloc(size_t alignment, size_t size)
{
    if (!is_power_of_two(alignment)) {
        errno = EINVAL;
        return NULL;
    }
    return alloc_aligned(size, alignment);
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

TSLAB_API enum tslab_status tslab_limits_set(const struct tslab_limits *set)
{
    if (set == NULL) {
        return TSLAB_INVALID;
    }
    /* With a record the engine runs, so that its start does not set the limits of the options later. */
    current_thread_set_limits(set);
    return TSLAB_OK;
}

TSLAB_API size_t tslab_limits_get(struct tslab_limits *set)
{
    if (set != NULL) {
        limit_get(set);
    }
    return limit_footprint() << UNIT_SHIFT;
}

TSLAB_API const char *tslab_version(void)
{
#define TEXT_OF(x)                        #x
#define VERSION_TEXT(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)
    return VERSION_TEXT(TSLAB_VERSION_MAJOR, TSLAB_VERSION_MINOR, TSLAB_VERSION_PATCH);
}

/* The names and the texts of statuses, for messages of programs. */
#define STATUSES(X)                                                                                                    \
    X(TSLAB_OK, "success")                                                                                             \
    X(TSLAB_EXPLICIT, "entered, but plain malloc does not land there")                                                 \
    X(TSLAB_PENDING, "closed, but a thread is still inside, and the last to leave completes it")                       \
    X(TSLAB_STALE, "it does not exist any more, or never did")                                                         \
    X(TSLAB_CLOSED, "it is closed")                                                                                    \
    X(TSLAB_NOT_INSIDE, "it is not what this thread began last")                                                       \
    X(TSLAB_BUSY, "a thread is inside")                                                                                \
    X(TSLAB_NO_MEMORY, "out of memory")                                                                                \
    X(TSLAB_INVALID, "an argument is invalid")                                                                         \
    X(TSLAB_FIXED, "the option cannot change any more")

TSLAB_API const char *tslab_status_text(enum tslab_status status)
{
#define RETURN_TEXT(status, text)                                                                                      \
    case (status):                                                                                                     \
        return (text);
    switch (status) {
        STATUSES(RETURN_TEXT)
    }
    return "unknown status";
}

TSLAB_API const char *tslab_status_name(enum tslab_status status)
{
#define RETURN_NAME(status, text)                                                                                      \
    case (status):                                                                                                     \
        return #status;
    switch (status) {
        STATUSES(RETURN_NAME)
    }
    return "unknown";
}
