/* The pool is a list for each length, under one lock. */
#include "thread/tray.h"

#include "common/metadata.h"
#include "os/fatal.h"
#include "os/lock.h"

atomic_size_t tray_bytes;

enum { TRAY_KINDS = 17 };
_Static_assert(TRAY_MOST <= TRAY_FIRST << (TRAY_KINDS - 1), "there is a kind for the longest tray");

static struct {
    _Alignas(CACHE_LINE) struct lock lock;
    struct tray *free[TRAY_KINDS];
} tray_pool = { .lock = LOCK_INIT(RANK_TRAYS) };

/* The kind of the shortest trays with this length. */
static unsigned kind_of(unsigned length)
{
    unsigned kind = 0;
    while ((unsigned)TRAY_FIRST << kind < length) {
        kind++;
    }
    invariant(kind < TRAY_KINDS);
    return kind;
}

struct tray *tray_take(unsigned length)
{
    invariant(length != 0 && length <= TRAY_MOST);
    const unsigned kind = kind_of(length);
    lock_acquire(&tray_pool.lock);
    struct tray *tray = tray_pool.free[kind];
    if (tray != NULL) {
        tray_pool.free[kind] = tray->next;
    }
    lock_release(&tray_pool.lock);
    if (tray == NULL) {
        const size_t bytes = round_up(sizeof *tray + sizeof(void *) * (1 + ((size_t)TRAY_FIRST << kind)), CACHE_LINE);
        tray = metadata_alloc(bytes);
        if (tray == NULL) {
            return NULL;
        }
        tray->length = (uint32_t)TRAY_FIRST << kind;
        counter_add_shared(&tray_bytes, bytes);
    }
    invariant(tray->length >= length && tray_places(tray)[0] == NULL);
    tray->next = NULL;
    tray->count = 0;
    return tray;
}

void tray_put(struct tray *tray)
{
    const unsigned kind = kind_of(tray->length);
    invariant(tray->length == (uint32_t)TRAY_FIRST << kind && tray_places(tray)[0] == NULL);
    lock_acquire(&tray_pool.lock);
    tray->next = tray_pool.free[kind];
    tray_pool.free[kind] = tray;
    lock_release(&tray_pool.lock);
}
