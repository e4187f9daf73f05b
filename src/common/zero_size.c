/* A place of the table is claimed and cleared by one atomic operation. */
#include "common/zero_size.h"

#include "common/guard.h"
#include "common/misuse.h"
#include "common/size_class.h"
#include "os/fatal.h"
#include "os/os.h"

#if TSLAB_CHECKED > 1

enum { NOTHINGS = 1 << 17, TRIES = 64 };

static struct {
    char *start; /* NULL: there are none */
    _Atomic(void *) *objects;
    atomic_u32 next; /* where to look for a free place */
} nothing;

void zero_size_start(void)
{
    void *mapping;
    size_t bytes;
    if (nothing.start == NULL) {
        nothing.objects = guard_map(NOTHINGS * sizeof nothing.objects[0], 1, &mapping, &bytes);
        nothing.start = nothing.objects == NULL ? NULL : os_reserve((size_t)NOTHINGS * GRANULE_BYTES);
    }
    invariant(nothing.start == NULL || nothing.objects != NULL);
}

void *zero_size_hide(void *object)
{
    for (unsigned i = 0; i < TRIES && object != NULL && nothing.start != NULL; i++) {
        const size_t at = fetch_add_relaxed(&nothing.next, 1) % NOTHINGS;
        void *none = NULL;
        invariant((uintptr_t)object % GRANULE_BYTES == 0);
        if (load_relaxed(&nothing.objects[at]) == NULL && cas_release(&nothing.objects[at], &none, object)) {
            return nothing.start + at * GRANULE_BYTES;
        }
    }
    return object;
}

/* The place of an address; NULL: it is none of these. */
static _Atomic(void *) *zero_size_place(const void *p)
{
    const size_t offset = (uintptr_t)p - (uintptr_t)nothing.start;
    if (nothing.start == NULL || offset >= (size_t)NOTHINGS * GRANULE_BYTES) {
        return NULL;
    }
    if (offset % GRANULE_BYTES != 0) {
        misuse_no_object(p);
    }
    return &nothing.objects[offset / GRANULE_BYTES];
}

static void *object_or_end(void *object, const void *p)
{
    if (object == NULL) {
        misuse("double or wild free of", p);
    }
    return object;
}

void *zero_size_object(const void *p)
{
    _Atomic(void *) *const place = zero_size_place(p);
    return place == NULL ? (void *)(uintptr_t)p : object_or_end(load_acquire(place), p);
}

void *zero_size_end(void *p)
{
    _Atomic(void *) *const place = zero_size_place(p);
    return place == NULL ? p : object_or_end(exchange_acquire(place, NULL), p);
}

#endif
