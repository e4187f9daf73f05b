/* Cuts records off the start of a mapping, under a lock, and maps the next when it is used up. What was left of the old
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

static struct {
    struct lock lock;
    char *at, *end;
} meta = { .lock = LOCK_INIT(RANK_META) };

static char *map_chunk(size_t bytes)
{
    if (GUARDED) {
        void *mapping;
        size_t mapping_bytes;
        return guard_map(bytes, 1, &mapping, &mapping_bytes);
    }
    return os_map(bytes);
}

void *metadata_alloc(size_t bytes)
{
    invariant(bytes != 0 && bytes <= PTRDIFF_MAX);
    bytes = round_up(bytes, CACHE_LINE);
    lock_acquire(&meta.lock);
    void *start = NULL;
    if ((size_t)(meta.end - meta.at) < bytes) {
        const size_t chunk = round_up(max_size(bytes, META_STEP_BYTES), os_page_bytes());
        char *fresh = map_chunk(chunk);
        if (fresh != NULL) {
            meta.at = fresh;
            meta.end = fresh + chunk;
            counter_add(&metadata_mapped_bytes, chunk);
        }
    }
    if ((size_t)(meta.end - meta.at) >= bytes) {
        start = meta.at;
        meta.at += bytes;
        counter_add(&meta_bytes, bytes);
    }
    invariant(meta.at <= meta.end && (uintptr_t)start % CACHE_LINE == 0);
    lock_release(&meta.lock);
    return start;
}
