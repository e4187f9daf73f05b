/* Cuts records off the start of a mapping, under a lock, and maps the next when it is used up. The rest of the old
 * mapping is lost. */
#include "common/metadata.h"

#include "common/guard.h"
#include "common/size_class.h"
#include "os/fatal.h"
#include "os/lock.h"
#include "os/os.h"

enum { META_STEP_BYTES = 256 * 1024 };

atomic_size_t meta_bytes;
atomic_size_t metadata_mapped_bytes;
atomic_size_t metadata_torn_bytes;

static struct {
    struct lock lock;
    char *at, *end;
} meta = { .lock = LOCK_INIT(RANK_META) };

void *metadata_take(size_t bytes)
{
    invariant(bytes != 0 && bytes <= PTRDIFF_MAX);
    bytes = round_up(bytes, CACHE_LINE);
    lock_acquire(&meta.lock);
    char *start = NULL;
    if ((size_t)(meta.end - meta.at) >= bytes) {
        start = meta.at;
        meta.at += bytes;
        counter_add(&meta_bytes, bytes);
    }
    invariant(meta.at <= meta.end && (uintptr_t)start % CACHE_LINE == 0);
    lock_release(&meta.lock);
    return start;
}

bool metadata_ahead(size_t bytes)
{
    invariant(bytes != 0 && bytes <= PTRDIFF_MAX);
    const size_t step_bytes = round_up(max_size(bytes, META_STEP_BYTES), os_page_bytes());
    size_t mapping_bytes = step_bytes; /* with its guards, if it has any */
    void *mapping = GUARDED ? NULL : os_map(step_bytes);
    char *const fresh = GUARDED ? guard_map(step_bytes, 1, &mapping, &mapping_bytes) : mapping;
    if (fresh == NULL) {
        return false;
    }
    lock_acquire(&meta.lock);
    const bool wanted = (size_t)(meta.end - meta.at) < round_up(bytes, CACHE_LINE);
    if (wanted) {
        counter_add(&metadata_torn_bytes, round_up((uintptr_t)meta.at, os_page_bytes()) - (uintptr_t)meta.at);
        meta.at = fresh;
        meta.end = fresh + step_bytes;
        counter_add(&metadata_mapped_bytes, step_bytes);
    }
    lock_release(&meta.lock);
    /* Another thread may have mapped some at the same time. */
    return wanted || os_unmap(mapping, mapping_bytes);
}

void *metadata_alloc(size_t bytes)
{
    void *start;
    do {
        start = metadata_take(bytes);
    } while (start == NULL && metadata_ahead(bytes));
    return start;
}
