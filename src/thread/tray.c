/* The pool is a list for each length, under one lock. */
#include "thread/tray.h"

#include "common/metadata.h"
#include "os/fatal.h"
#include "os/lock.h"
#include "os/os.h"

atomic_size_t tray_bytes;

/* Trays made ahead of use, at most: a part of all trays, and this many bytes. */
enum { TRAY_KINDS = 17, AHEAD_SHIFT = 3, AHEAD_BYTES = 32 * 1024 };
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

static void pool_put(unsigned kind, struct tray *first, struct tray *last)
{
    lock_acquire(&tray_pool.lock);
    last->next = tray_pool.free[kind];
    tray_pool.free[kind] = first;
    lock_release(&tray_pool.lock);
}

/* Makes trays of a kind, as many as come to an eighth of all, and has the system give their pages now: one call then
 * takes the faults of many. Returns one of them, and puts the rest into the pool. NULL: no memory. */
static struct tray *make_trays(unsigned kind)
{
    invariant(kind < TRAY_KINDS);
    const size_t bytes =
        round_up(sizeof(struct tray) + sizeof(void *) * (1 + ((size_t)TRAY_FIRST << kind)), CACHE_LINE);
    const size_t ahead = min_size(load_relaxed(&tray_bytes) >> AHEAD_SHIFT, AHEAD_BYTES) / bytes;
    size_t count = max_size(ahead, 1);
    char *start = metadata_alloc(count * bytes);
    if (start == NULL && count > 1) {
        count = 1;
        start = metadata_alloc(bytes);
    }
    if (start == NULL) {
        return NULL;
    }
    counter_add_shared(&tray_bytes, count * bytes);
    for (size_t at = 0; at < count * bytes; at += os_page_bytes()) {
        *(volatile char *)(start + at) = 0;
    }
    for (size_t i = count; i-- != 0;) {
        struct tray *const tray = (struct tray *)(start + i * bytes);
        tray->length = (uint32_t)TRAY_FIRST << kind;
        tray->next = i + 1 < count ? (struct tray *)(start + (i + 1) * bytes) : NULL;
    }
    struct tray *const first = (struct tray *)start;
    invariant(count >= 1 && first->length == (uint32_t)TRAY_FIRST << kind);
    if (count > 1) {
        pool_put(kind, first->next, (struct tray *)(start + (count - 1) * bytes));
    }
    return first;
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
    if (tray == NULL && (tray = make_trays(kind)) == NULL) {
        return NULL;
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
    pool_put(kind, tray, tray);
}
