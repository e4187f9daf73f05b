#include "memory.h"

#include "common/size_class.h"
#include "scheduler.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

enum {
    PLACE_BYTES = 8, /* places are aligned words; what is smaller is a part of one */
    PLACES_SHIFT = 15,
    PLACES = 1 << PLACES_SHIFT,
    ACCESSES = 1 << 17,
    STORES = 1 << 16,
    ORDERED = 1 << 15,
    THINGS = 128,
};

/* How much of the threads' past happens before something: theirs up to these times, and so many of their seq_cst
 * operations. */
struct view {
    uint32_t time[THREADS_MAX];
    uint32_t ordered[THREADS_MAX];
};

enum kind { READS = 0, WRITES = 1, ATOMIC = 2 };

/* The last accesses to some bytes of a place, each by the thread that made it. */
struct access {
    uint32_t next; /* in the place, 0: none */
    uint32_t time;
    const void *where;
    uint8_t thread;
    uint8_t kind;
    uint8_t bytes; /* a bit for each */
};

/* A store to some bytes of a place. */
struct store {
    uint32_t older; /* in the place, 0: none */
    uint8_t bytes;
    uint64_t before;
    uint32_t seen[THREADS_MAX]; /* when each thread made it or first read it; 0: never */
    struct view released;
    const void *where;
};

/* A seq_cst operation. Their order is a partial one, as far as something asks for it: the order in which they are made
 * is not all of it, for a load may be early. */
struct ordered {
    uint32_t next;   /* in the place, 0: none */
    uint32_t store;  /* that it made, or has read */
    uint32_t number; /* of those of its thread */
    uint8_t thread;
    uint8_t bytes;
    bool writes;
    uint32_t after[THREADS_MAX]; /* so many of each thread's come before it; of its own, it is the last of them */
};

struct place {
    uint64_t *address;
    uint32_t run; /* what it holds is of this run; else it is empty */
    uint32_t accesses;
    uint32_t stores; /* the last one */
    uint32_t ordered;
};

struct thing {
    const void *thing;
    struct view released;
};

static struct {
    bool watched, on;
    uint32_t run;
    uint32_t used_places, used_accesses, used_stores, used_ordered, used_things;
    uint32_t free_accesses;
    uint32_t old_stores;            /* stores below it are seen by all threads */
    struct view views[THREADS_MAX]; /* each thread's own time is in it, too */
    int threads;
} memory;

static struct place places[PLACES];
static struct access accesses[ACCESSES];
static struct store stores[STORES];
static struct ordered ordered[ORDERED];
static struct thing things[THINGS];

bool memory_is_watched(void)
{
    return memory.watched;
}

void memory_begin(int threads)
{
    memory.run++;
    memory.threads = threads;
    memory.used_places = 0;
    memory.used_accesses = memory.used_stores = memory.used_ordered = 1; /* 0 is none */
    memory.used_things = 0;
    memory.free_accesses = 0;
    memory.old_stores = 0;
    memset(memory.views, 0, sizeof memory.views);
    for (int t = 0; t < threads; t++) {
        memory.views[t].time[t] = 1;
    }
    memory.on = memory.watched;
}

void memory_end(void)
{
    memory.on = false;
}

static struct view *own_view(void)
{
    return &memory.views[sim_self()];
}

static uint32_t now(void)
{
    return own_view()->time[sim_self()];
}

static void join_counts(uint32_t *counts, const uint32_t *others)
{
    for (int t = 0; t < memory.threads; t++) {
        counts[t] = counts[t] > others[t] ? counts[t] : others[t];
    }
}

static void join(struct view *view, const struct view *other)
{
    join_counts(view->time, other->time);
    join_counts(view->ordered, other->ordered);
}

static bool is_within(const struct view *inner, const struct view *outer)
{
    for (int t = 0; t < memory.threads; t++) {
        if (inner->time[t] > outer->time[t] || inner->ordered[t] > outer->ordered[t]) {
            return false;
        }
    }
    return true;
}

/* A step after a release does not happen before the thread that acquires it. */
static void tick(void)
{
    own_view()->time[sim_self()]++;
}

void memory_alone(void)
{
    for (int t = 0; t < memory.threads; t++) {
        join(own_view(), &memory.views[t]);
    }
}

void memory_time_passes(void)
{
    memory.old_stores = memory.used_stores;
}

static struct view *view_of_thing(const void *thing)
{
    for (uint32_t i = 0; i < memory.used_things; i++) {
        if (things[i].thing == thing) {
            return &things[i].released;
        }
    }
    if (memory.used_things == THINGS) {
        sim_fail("more is handed on than the model has room for");
    }
    things[memory.used_things] = (struct thing){ .thing = thing };
    return &things[memory.used_things++].released;
}

void memory_release(const void *thing)
{
    if (memory.on) {
        *view_of_thing(thing) = *own_view();
        tick();
    }
}

void memory_acquire(const void *thing)
{
    if (memory.on) {
        join(own_view(), view_of_thing(thing));
    }
}

/* Places. */

static struct place *place_at(const void *p)
{
    uint64_t *const address = (uint64_t *)((uintptr_t)p / PLACE_BYTES * PLACE_BYTES);
    uint32_t i = (uint32_t)(((uintptr_t)address / PLACE_BYTES * 0x9e3779b97f4a7c15u) >> (64 - PLACES_SHIFT));
    while (places[i].run == memory.run && places[i].address != address) {
        i = (i + 1) % PLACES;
    }
    struct place *place = &places[i];
    if (place->run != memory.run) {
        if (++memory.used_places > PLACES / 2) {
            sim_fail("a run touches more memory than the model has room for");
        }
        *place = (struct place){ .address = address, .run = memory.run };
    }
    return place;
}

/* The bits of `size` bytes at p in the word that they lie in. */
static uint8_t bytes_at(const void *p, size_t size)
{
    return (uint8_t)(bit_mask((unsigned)size) << ((uintptr_t)p % PLACE_BYTES));
}

/* A word with ones in the bytes that have a bit. */
static uint64_t widen(uint8_t bytes)
{
    uint64_t wide = 0;
    for (unsigned i = 0; i < PLACE_BYTES; i++) {
        wide |= (bytes >> i & 1) != 0 ? (uint64_t)0xff << (8 * i) : 0;
    }
    return wide;
}

/* Data races. */

static _Noreturn void fail_race(const struct access *earlier, const void *p, enum kind kind, const void *where)
{
    char lines[2][64];
    sim_name(earlier->where, lines[0], sizeof lines[0]);
    sim_name(where, lines[1], sizeof lines[1]);
    sim_fail("data race at %p: T%d %s%s it at %s, T%d %s%s it at %s", p, earlier->thread,
             (earlier->kind & WRITES) != 0 ? "wrote" : "read", (earlier->kind & ATOMIC) != 0 ? " (atomic)" : "",
             lines[0], sim_self(), (kind & WRITES) != 0 ? "writes" : "reads", (kind & ATOMIC) != 0 ? " (atomic)" : "",
             lines[1]);
}

static uint32_t new_access(void)
{
    const uint32_t i = memory.free_accesses;
    if (i != 0) {
        memory.free_accesses = accesses[i].next;
        return i;
    }
    if (memory.used_accesses == ACCESSES) {
        sim_fail("a run makes more accesses than the model has room for");
    }
    return memory.used_accesses++;
}

/* Whether the later access says all that the earlier one did: who does not race with it, does not with that. */
static bool replaces(const struct access *earlier, uint8_t bytes, enum kind kind, bool same_thread)
{
    return (earlier->bytes & ~bytes) == 0 && (kind & ATOMIC) <= (earlier->kind & ATOMIC) &&
           (kind & WRITES) >= (earlier->kind & WRITES) && (same_thread || kind == WRITES);
}

static void check_races(struct place *place, const void *p, uint8_t bytes, enum kind kind, const void *where)
{
    const uint8_t self = (uint8_t)sim_self();
    const struct view *view = own_view();
    uint32_t *link = &place->accesses;
    while (*link != 0) {
        const uint32_t i = *link;
        const struct access *a = &accesses[i];
        const bool conflict =
            (a->bytes & bytes) != 0 && ((a->kind | kind) & WRITES) != 0 && ((a->kind & kind) & ATOMIC) == 0;
        if (conflict && a->time > view->time[a->thread]) {
            fail_race(a, p, kind, where);
        }
        if (replaces(a, bytes, kind, a->thread == self)) {
            *link = a->next;
            accesses[i].next = memory.free_accesses;
            memory.free_accesses = i;
        } else {
            link = &accesses[i].next;
        }
    }
    const uint32_t i = new_access();
    accesses[i] = (struct access){ place->accesses, now(), where, self, (uint8_t)kind, bytes };
    place->accesses = i;
}

/* Stores. */

static uint32_t new_store(struct place *place, uint8_t bytes, const void *where)
{
    if (memory.used_stores == STORES) {
        sim_fail("a run makes more stores than the model has room for");
    }
    struct store *store = &stores[memory.used_stores];
    *store = (struct store){ .older = place->stores, .bytes = bytes, .before = *place->address, .where = where };
    store->seen[sim_self()] = now();
    place->stores = memory.used_stores++;
    return place->stores;
}

/* Whether that it was made, or that it was read, happens before the running thread. */
static bool is_known(const struct store *store)
{
    const struct view *view = own_view();
    for (int t = 0; t < memory.threads; t++) {
        if (store->seen[t] != 0 && store->seen[t] <= view->time[t]) {
            return true;
        }
    }
    return false;
}

static uint32_t next_store(uint32_t i, uint8_t bytes)
{
    while (i != 0 && (stores[i].bytes & bytes) == 0) {
        i = stores[i].older;
    }
    return i;
}

/* The releases of the stores that a load of these bytes reads, of which `i` is the last. */
static struct view released_by(uint32_t i, uint8_t bytes)
{
    struct view view = { { 0 }, { 0 } };
    for (; i != 0 && bytes != 0; i = next_store(stores[i].older, bytes)) {
        join(&view, &stores[i].released);
        bytes &= (uint8_t)~stores[i].bytes;
    }
    return view;
}

static bool acquires(int order)
{
    return order == __ATOMIC_ACQUIRE || order == __ATOMIC_CONSUME || order == __ATOMIC_ACQ_REL ||
           order == __ATOMIC_SEQ_CST;
}

static bool releases(int order)
{
    return order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
}

/* The order of seq_cst operations: one comes before another that happens after it; and where the two are to the same
 * bytes, if what the one made or read is before what the other made or read, unless both read the same. */

/* How many come before an operation of the running thread that reads a store, or makes it. */
static void find_before(const struct place *place, uint8_t bytes, uint32_t store, bool writes, uint32_t *counts)
{
    memcpy(counts, own_view()->ordered, sizeof own_view()->ordered);
    for (uint32_t i = place->ordered; i != 0; i = ordered[i].next) {
        const bool before = writes || ordered[i].store < store || (ordered[i].writes && ordered[i].store == store);
        if ((ordered[i].bytes & bytes) != 0 && before) {
            join_counts(counts, ordered[i].after);
        }
    }
}

/* Whether the store is before what another one made or read. */
static bool is_before(const struct ordered *other, uint8_t bytes, uint32_t store)
{
    return (other->bytes & bytes) != 0 && other->store > store;
}

/* Whether a seq_cst load may return a store: all that have to come after it do not come before it. */
static bool may_read(const struct place *place, uint8_t bytes, uint32_t store)
{
    uint32_t counts[THREADS_MAX];
    find_before(place, bytes, store, false, counts);
    for (uint32_t i = place->ordered; i != 0; i = ordered[i].next) {
        if (is_before(&ordered[i], bytes, store) && ordered[i].number <= counts[ordered[i].thread]) {
            return false;
        }
    }
    return true;
}

/* An operation that was made earlier comes after a load that is made now, and so does all that comes after the former.
 */
static void put_before(const uint32_t *counts, const struct ordered *later)
{
    const uint8_t t = later->thread;
    const uint32_t number = later->number;
    for (uint32_t i = 1; i < memory.used_ordered; i++) {
        if (ordered[i].after[t] >= number) {
            join_counts(ordered[i].after, counts);
        }
    }
    for (uint32_t i = 1; i < memory.used_stores; i++) {
        if (stores[i].released.ordered[t] >= number) {
            join_counts(stores[i].released.ordered, counts);
        }
    }
    for (int other = 0; other < memory.threads; other++) {
        if (memory.views[other].ordered[t] >= number) {
            join_counts(memory.views[other].ordered, counts);
        }
    }
    for (uint32_t i = 0; i < memory.used_things; i++) {
        if (things[i].released.ordered[t] >= number) {
            join_counts(things[i].released.ordered, counts);
        }
    }
}

/* The running thread has made a seq_cst operation, that read a store, or made it. */
static void add_ordered(struct place *place, uint8_t bytes, uint32_t store, bool writes)
{
    if (memory.used_ordered == ORDERED) {
        sim_fail("a run makes more seq_cst operations than the model has room for");
    }
    struct view *view = own_view();
    struct ordered *new = &ordered[memory.used_ordered];
    *new = (struct ordered){ place->ordered, store, view->ordered[sim_self()] + 1, (uint8_t)sim_self(), bytes,
                             writes,         { 0 } };
    find_before(place, bytes, store, writes, new->after);
    new->after[sim_self()] = new->number;
    memcpy(view->ordered, new->after, sizeof view->ordered);
    for (uint32_t i = place->ordered; i != 0; i = ordered[i].next) {
        if (is_before(&ordered[i], bytes, store)) {
            put_before(new->after, &ordered[i]);
        }
    }
    place->ordered = memory.used_ordered++;
}

enum { CANDIDATES_MAX = 16 };

/* The values that a load may return: a store, 0 for the value before the run, and the word after it. */
struct candidate {
    uint32_t store;
    uint64_t word;
};

/* Whether a load that returned the older one could go on otherwise than with the newer one: another value, or other
 * acquisitions. */
static bool differs(const struct candidate *older, const struct candidate *newer, uint8_t bytes, int order)
{
    if (((older->word ^ newer->word) & widen(bytes)) != 0) {
        return true;
    }
    if (!acquires(order)) {
        return false;
    }
    struct view with_older = released_by(older->store, bytes);
    const struct view with_newer = released_by(newer->store, bytes);
    join(&with_older, own_view());
    return !is_within(&with_newer, &with_older);
}

/* Newest first. */
static unsigned find_candidates(const struct place *place, uint8_t bytes, int order, struct candidate *found)
{
    unsigned n = 0;
    uint64_t word = *place->address;
    uint32_t i = place->stores;
    for (bool more = true; more && n < CANDIDATES_MAX;) {
        /* Stores to other bytes do not matter, but they may be of bytes beside these. */
        for (; i != 0 && (stores[i].bytes & bytes) == 0; i = stores[i].older) {
            word = (word & ~widen(stores[i].bytes)) | (stores[i].before & widen(stores[i].bytes));
        }
        const struct candidate candidate = { i, word };
        if (n == 0 || (differs(&candidate, &found[n - 1], bytes, order) &&
                       (order != __ATOMIC_SEQ_CST || may_read(place, bytes, i)))) {
            found[n++] = candidate;
        }
        more = i >= memory.old_stores && i != 0 && !is_known(&stores[i]);
        if (more) {
            word = (word & ~widen(stores[i].bytes)) | (stores[i].before & widen(stores[i].bytes));
            i = stores[i].older;
        }
    }
    return n;
}

/* The load has returned what was there after the store. */
static void has_read(uint32_t store, uint8_t bytes, int order)
{
    if (store != 0) {
        uint32_t *const seen = &stores[store].seen[sim_self()];
        *seen = *seen == 0 ? now() : *seen;
    }
    if (acquires(order)) {
        const struct view view = released_by(store, bytes);
        join(own_view(), &view);
    }
}

static uint64_t part_of(uint64_t word, const void *p, size_t size)
{
    return (word >> (8 * ((uintptr_t)p % PLACE_BYTES))) & bit_mask((unsigned)size * 8);
}

static uint64_t load(const void *p, size_t size, int order, const void *where)
{
    struct place *place = place_at(p);
    const uint8_t bytes = bytes_at(p, size);
    check_races(place, p, bytes, ATOMIC | READS, where);
    struct candidate found[CANDIDATES_MAX];
    const unsigned n = find_candidates(place, bytes, order, found);
    const unsigned chosen = n < 2 ? 0 : sim_choose_store(n, where);
    has_read(found[chosen].store, bytes, order);
    if (order == __ATOMIC_SEQ_CST) {
        add_ordered(place, bytes, found[chosen].store, false);
    }
    return part_of(found[chosen].word, p, size);
}

/* Before the memory is written. */
static void store(const void *p, size_t size, int order, const void *where)
{
    struct place *place = place_at(p);
    const uint8_t bytes = bytes_at(p, size);
    check_races(place, p, bytes, ATOMIC | WRITES, where);
    const uint32_t made = new_store(place, bytes, where);
    if (order == __ATOMIC_SEQ_CST) {
        add_ordered(place, bytes, made, true);
    }
    if (releases(order)) {
        stores[made].released = *own_view();
        tick();
    }
}

/* The same for a read-modify-write, which reads the last store, and goes on with what that released. */
static void modify(const void *p, size_t size, int order, const void *where)
{
    struct place *place = place_at(p);
    const uint8_t bytes = bytes_at(p, size);
    const uint32_t last = next_store(place->stores, bytes);
    const struct view released = released_by(last, bytes);
    has_read(last, bytes, order);
    store(p, size, order, where);
    join(&stores[place->stores].released, &released);
}

/* A compare-and-swap that fails is a load, and may return any store but one of what is expected. */
static bool fails_early(const void *p, size_t size, uint64_t expected, int order, const void *where, uint64_t *value)
{
    struct place *place = place_at(p);
    const uint8_t bytes = bytes_at(p, size);
    struct candidate found[CANDIDATES_MAX];
    const unsigned n = find_candidates(place, bytes, order, found);
    struct candidate fitting[CANDIDATES_MAX];
    unsigned m = 1; /* the first: the last store, whatever it is */
    fitting[0] = found[0];
    for (unsigned i = 1; i < n; i++) {
        if (part_of(found[i].word, p, size) != expected) {
            fitting[m++] = found[i];
        }
    }
    const unsigned chosen = m < 2 ? 0 : sim_choose_store(m, where);
    if (chosen == 0 && part_of(fitting[0].word, p, size) == expected) {
        return false;
    }
    check_races(place, p, bytes, ATOMIC | READS, where);
    has_read(fitting[chosen].store, bytes, order);
    if (order == __ATOMIC_SEQ_CST) {
        add_ordered(place, bytes, fitting[chosen].store, false);
    }
    *value = part_of(fitting[chosen].word, p, size);
    return true;
}

/* Plain accesses. They leave no store: whoever loads the place by an atomic operation, and does not race, comes after
 * them, and after all stores before them. Those to a coroutine's own variables, and to the one thread-local variable,
 * which the scheduler swaps, are of no interest. */

static bool is_private(const void *p)
{
    return sim_is_on_stack(p) || p == (const void *)&front_current || p == (const void *)&errno;
}

static void access_range(const void *start, size_t size, enum kind kind, const void *where)
{
    if (!memory.on || is_private(start)) {
        return;
    }
    for (const char *at = start, *end = at + size; at < end;) {
        const size_t left = PLACE_BYTES - (uintptr_t)at % PLACE_BYTES;
        const size_t n = left < (size_t)(end - at) ? left : (size_t)(end - at);
        check_races(place_at(at), at, bytes_at(at, n), kind, where);
        at += n;
    }
}

static void use(const void *start, size_t bytes, enum kind access, const void *where)
{
    const uintptr_t end = (uintptr_t)start + bytes;
    const size_t step = class_geometry[1].size;
    for (uintptr_t at = (uintptr_t)start; at < end; at = at / step * step + step) {
        access_range((const void *)at, 2 * PLACE_BYTES, access, where);
    }
}

void memory_use(const void *start, size_t bytes)
{
    use(start, bytes, WRITES, __builtin_return_address(0));
}

/* The functions that the compiler calls, by its own names and prototypes. */

#define WHERE __builtin_return_address(0)

void __tsan_init(void);
void __tsan_init(void)
{
    memory.watched = true;
}

#define PLAIN(name, size, kind)                                                                                        \
    void __tsan_##name(void *p);                                                                                       \
    void __tsan_##name(void *p)                                                                                        \
    {                                                                                                                  \
        access_range(p, size, kind, WHERE);                                                                            \
    }

PLAIN(read1, 1, READS)
PLAIN(read2, 2, READS)
PLAIN(read4, 4, READS)
PLAIN(read8, 8, READS)
PLAIN(read16, 16, READS)
PLAIN(write1, 1, WRITES)
PLAIN(write2, 2, WRITES)
PLAIN(write4, 4, WRITES)
PLAIN(write8, 8, WRITES)
PLAIN(write16, 16, WRITES)
PLAIN(unaligned_read2, 2, READS)
PLAIN(unaligned_read4, 4, READS)
PLAIN(unaligned_read8, 8, READS)
PLAIN(unaligned_read16, 16, READS)
PLAIN(unaligned_write2, 2, WRITES)
PLAIN(unaligned_write4, 4, WRITES)
PLAIN(unaligned_write8, 8, WRITES)
PLAIN(unaligned_write16, 16, WRITES)

void __tsan_read_range(void *p, unsigned long size);
void __tsan_read_range(void *p, unsigned long size)
{
    access_range(p, size, READS, WHERE);
}

void __tsan_write_range(void *p, unsigned long size);
void __tsan_write_range(void *p, unsigned long size)
{
    access_range(p, size, WRITES, WHERE);
}

/* Calls of these are not instrumented: the build gives them other names. */

void *memory_set(void *p, int c, size_t size);
void *memory_set(void *p, int c, size_t size)
{
    access_range(p, size, WRITES, WHERE);
    return memset(p, c, size);
}

void *memory_copy(void *to, const void *from, size_t size);
void *memory_copy(void *to, const void *from, size_t size)
{
    /* Only the contents of objects that move are long. */
    const bool is_long = size > class_geometry[1].size;
    (is_long ? use : access_range)(from, size, READS, WHERE);
    (is_long ? use : access_range)(to, size, WRITES, WHERE);
    return memcpy(to, from, size);
}

static bool is_watched(const volatile void *p)
{
    return memory.on && !is_private((const void *)p);
}

#define UPDATE(bits, name, result)                                                                                     \
    uint##bits##_t __tsan_atomic##bits##_##name(volatile uint##bits##_t *p, uint##bits##_t v, int order);              \
    uint##bits##_t __tsan_atomic##bits##_##name(volatile uint##bits##_t *p, uint##bits##_t v, int order)               \
    {                                                                                                                  \
        if (is_watched(p)) {                                                                                           \
            modify((const void *)p, (bits) / 8, order, WHERE);                                                         \
        }                                                                                                              \
        const uint##bits##_t old = *p;                                                                                 \
        *p = (uint##bits##_t)(result);                                                                                 \
        return old;                                                                                                    \
    }

#define ATOMICS(bits)                                                                                                  \
    uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t *p, int order);                            \
    uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t *p, int order)                             \
    {                                                                                                                  \
        return is_watched(p) ? (uint##bits##_t)load((const void *)p, (bits) / 8, order, WHERE) : *p;                   \
    }                                                                                                                  \
    void __tsan_atomic##bits##_store(volatile uint##bits##_t *p, uint##bits##_t v, int order);                         \
    void __tsan_atomic##bits##_store(volatile uint##bits##_t *p, uint##bits##_t v, int order)                          \
    {                                                                                                                  \
        if (is_watched(p)) {                                                                                           \
            store((const void *)p, (bits) / 8, order, WHERE);                                                          \
        }                                                                                                              \
        *p = v;                                                                                                        \
    }                                                                                                                  \
    UPDATE(bits, exchange, v)                                                                                          \
    UPDATE(bits, fetch_add, old + v)                                                                                   \
    UPDATE(bits, fetch_sub, old - v)                                                                                   \
    UPDATE(bits, fetch_and, old &v)                                                                                    \
    UPDATE(bits, fetch_or, old | v)                                                                                    \
    UPDATE(bits, fetch_xor, old ^ v)                                                                                   \
    uint##bits##_t __tsan_atomic##bits##_compare_exchange_val(volatile uint##bits##_t *p, uint##bits##_t expected,     \
                                                              uint##bits##_t v, int order, int failing);               \
    uint##bits##_t __tsan_atomic##bits##_compare_exchange_val(volatile uint##bits##_t *p, uint##bits##_t expected,     \
                                                              uint##bits##_t v, int order, int failing)                \
    {                                                                                                                  \
        return (uint##bits##_t)compare_and_swap(p, (bits) / 8, expected, v, order, failing, WHERE);                    \
    }                                                                                                                  \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile uint##bits##_t *p, uint##bits##_t *expected,            \
                                                      uint##bits##_t v, int order, int failing);                       \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile uint##bits##_t *p, uint##bits##_t *expected,            \
                                                      uint##bits##_t v, int order, int failing)                        \
    {                                                                                                                  \
        const uint##bits##_t wanted = *expected;                                                                       \
        *expected = (uint##bits##_t)compare_and_swap(p, (bits) / 8, wanted, v, order, failing, WHERE);                 \
        return *expected == wanted;                                                                                    \
    }

static uint64_t memory_value(const volatile void *p, size_t size)
{
    uint64_t value = 0;
    memcpy(&value, (const void *)p, size);
    return value;
}

/* Returns what was found. */
static uint64_t compare_and_swap(volatile void *p, size_t size, uint64_t expected, uint64_t v, int order, int failing,
                                 const void *where)
{
    uint64_t found = memory_value(p, size);
    if (is_watched(p) && fails_early((const void *)p, size, expected, failing, where, &found)) {
        return found;
    }
    if (found == expected) {
        if (is_watched(p)) {
            modify((const void *)p, size, order, where);
        }
        memcpy((void *)p, &v, size);
    }
    return found;
}

ATOMICS(8)
ATOMICS(16)
ATOMICS(32)
ATOMICS(64)

void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_thread_fence(int order)
{
    sim_fail("a fence of order %d: the model has none", order);
}

void __tsan_atomic_signal_fence(int order);
void __tsan_atomic_signal_fence(int order)
{
    (void)order; /* for the compiler alone */
}
