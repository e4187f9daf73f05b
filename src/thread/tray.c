/* The pool is a list for each length, under one lock. Of a book, `count` is how many free trays it has, and `length`
 * how many of these have no pages: the first ones. */
#include "thread/tray.h"

#include "common/metadata.h"
#include "os/fatal.h"
#include "os/lock.h"
#include "os/os.h"

atomic_size_t tray_bytes;
atomic_size_t tray_gone_bytes;

/* Trays made ahead of use, at most: a part of all trays, and this many bytes. */
enum { TRAY_KINDS = 8, AHEAD_SHIFT = 3, AHEAD_BYTES = 32 * 1024, TRAY_PAGE = 4096 };
_Static_assert(TRAY_MOST <= TRAY_FIRST << (TRAY_KINDS - 1), "there is a kind for the longest tray");
_Static_assert(TSLAB_SIM || sizeof(struct tray) + (1 + TRAY_MOST) * sizeof(void *) == TRAY_PAGE, "which is a page");

static struct {
    _Alignas(CACHE_LINE) struct lock lock;
    struct tray *free[TRAY_KINDS]; /* the longest trays: books of them */
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

static unsigned length_of(unsigned kind)
{
    return (unsigned)min_size((size_t)TRAY_FIRST << kind, TRAY_MOST);
}

static bool is_longest(unsigned kind)
{
    return length_of(kind) == TRAY_MOST;
}

static void pool_put(unsigned kind, struct tray *tray)
{
    lock_acquire(&tray_pool.lock);
    struct tray *const first = tray_pool.free[kind];
    invariant(tray != first && kind < TRAY_KINDS);
    if (is_longest(kind) && first != NULL && first->count < TRAY_MOST) {
        tray_places(first)[++first->count] = tray;
    } else {
        tray->next = first;
        tray->count = tray->length = 0;
        tray_pool.free[kind] = tray;
    }
    lock_release(&tray_pool.lock);
}

static struct tray *pool_take(unsigned kind)
{
    lock_acquire(&tray_pool.lock);
    struct tray *const first = tray_pool.free[kind];
    struct tray *tray = first;
    invariant(first == NULL || !is_longest(kind) || (first->length <= first->count && first->count <= TRAY_MOST));
    if (first != NULL && is_longest(kind) && first->count != 0) {
        tray = tray_places(first)[first->count];
        if (first->length == first->count) {
            first->length--;
            (void)fetch_sub_relaxed(&tray_gone_bytes, TRAY_PAGE);
        }
        first->count--;
    } else if (first != NULL) {
        tray_pool.free[kind] = first->next;
    }
    lock_release(&tray_pool.lock);
    return tray;
}

/* Makes trays of a kind, as many as come to an eighth of all, and has the system give their pages now: one call then
 * takes the faults of many. Returns one of them, and puts the rest into the pool. NULL: no memory. */
static struct tray *make_trays(unsigned kind)
{
    const size_t align = is_longest(kind) && !TSLAB_SIM ? TRAY_PAGE : CACHE_LINE;
    const size_t bytes = round_up(sizeof(struct tray) + sizeof(void *) * (1 + length_of(kind)), CACHE_LINE);
    const size_t ahead = min_size(load_relaxed(&tray_bytes) >> AHEAD_SHIFT, AHEAD_BYTES) / bytes;
    size_t count = max_size(ahead, 1);
    char *start = metadata_alloc(count * bytes + align - CACHE_LINE);
    if (start == NULL && count > 1) {
        count = 1;
        start = metadata_alloc(bytes + align - CACHE_LINE);
    }
    if (start == NULL) {
        return NULL;
    }
    counter_add_shared(&tray_bytes, count * bytes + align - CACHE_LINE);
    counter_add_shared(&tray_gone_bytes, align - CACHE_LINE); /* about a page that nobody touches */
    start = (char *)round_up((uintptr_t)start, align);
    for (size_t at = 0; at < count * bytes; at += os_page_bytes()) {
        *(volatile char *)(start + at) = 0;
    }
    for (size_t i = count; i-- > 1;) {
        pool_put(kind, (struct tray *)(start + i * bytes));
    }
    return (struct tray *)start;
}

struct tray *tray_take(unsigned length)
{
    invariant(length != 0 && length <= TRAY_MOST);
    const unsigned kind = kind_of(length);
    struct tray *tray = pool_take(kind);
    if (tray == NULL && (tray = make_trays(kind)) == NULL) {
        return NULL;
    }
    tray->next = NULL;
    tray->count = 0;
    tray->length = length_of(kind);
    invariant(tray->length >= length && tray_places(tray)[0] == NULL);
    return tray;
}

void tray_put(struct tray *tray)
{
    const unsigned kind = kind_of(tray->length);
    invariant(tray->length == length_of(kind) && tray_places(tray)[0] == NULL);
    pool_put(kind, tray);
}

/* Gives back the pages of a book that nobody else reaches. */
static size_t purge_book(struct tray *book)
{
    size_t purged = 0;
    invariant(book->length <= book->count && book->count <= TRAY_MOST);
    for (unsigned i = book->length + 1, next; i <= book->count; i = next) {
        char *const start = tray_places(book)[i];
        next = i + 1;
        while (next <= book->count && (char *)tray_places(book)[next] == start + (size_t)(next - i) * TRAY_PAGE) {
            next++;
        }
        if (!os_purge(start, (size_t)(next - i) * TRAY_PAGE)) {
            break;
        }
        book->length = next - 1;
        purged += (size_t)(next - i) * TRAY_PAGE;
    }
    counter_add_shared(&tray_gone_bytes, purged);
    return purged;
}

size_t tray_purge(void)
{
    const unsigned kind = kind_of(TRAY_MOST);
    size_t purged = 0;
    if (TSLAB_SIM || os_page_bytes() != TRAY_PAGE) {
        return 0;
    }
    lock_acquire(&tray_pool.lock);
    struct tray *const books = tray_pool.free[kind];
    tray_pool.free[kind] = NULL;
    lock_release(&tray_pool.lock);
    struct tray *last = NULL;
    for (struct tray *book = books; book != NULL; book = book->next) {
        purged += purge_book(book);
        last = book;
    }
    if (last != NULL) {
        lock_acquire(&tray_pool.lock);
        last->next = tray_pool.free[kind];
        tray_pool.free[kind] = books;
        lock_release(&tray_pool.lock);
    }
    invariant(purged % TRAY_PAGE == 0);
    return purged;
}
