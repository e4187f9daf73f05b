/* The slow parts of chunks: opening, closing, resetting, counting, and frees by threads that do not hold the cursor. */
#include "slab/chunk.h"

#include "common/random.h"
#include "os/fatal.h"
#include "slab/samples.h"
#include "space/depot.h"
#include "space/live_bits.h"
#include "space/pages.h"
#include "space/reclaim.h"

void *chunk_alloc_aligned(struct cursor *cursor, size_t size, size_t alignment)
{
    invariant(is_power_of_two(alignment) && alignment >= GRANULE_BYTES && alignment <= CHUNK_ALIGN_MOST);
    const uint64_t before = load_plain(&cursor->at);
    const uint64_t aligned = round_up(before, alignment >> GRANULE_SHIFT);
    if (aligned + size_code_granules(size_code_of_size(size)) > cursor->end) {
        return NULL;
    }
    store_plain(&cursor->at, aligned);
    counter_add(&cursor->freed, aligned - before);
    return chunk_alloc(cursor, size);
}

/* The granules of objects in the cursor's chunk that the holder has not freed. */
static uint32_t cursor_alive(const struct cursor *cursor)
{
    invariant(load_plain(&cursor->freed) <= load_plain(&cursor->at));
    return (uint32_t)(load_plain(&cursor->at) - load_plain(&cursor->freed));
}

static struct run *chunk_of(const struct cursor *cursor)
{
    invariant(cursor_start(cursor) != NULL && arena_tag(cursor_start(cursor)) == TAG_CHUNK);
    return &arena.runs[arena_unit(cursor_start(cursor))];
}

static bool chunk_is_frozen(const struct cursor *cursor)
{
    return cursor->end != load_plain(&cursor->start) + chunk_of(cursor)->cut;
}

/* The granule from this one on whose object is sampled; at most CHUNK_GRANULES. A sample that was drawn before and not
 * reached does not matter: the distance to the next one has no memory. */
static uint16_t random_cut(uint64_t from)
{
    uint64_t state = fetch_add_plain(&samples.seed, 1);
    state = random_next(&state);
    const uint64_t distance = random_distance(&state, load_plain(&samples.period)) >> GRANULE_SHIFT;
    invariant(from <= CHUNK_GRANULES);
    return (uint16_t)min_size(from + distance, CHUNK_GRANULES);
}

/* Lets the cursor fill the chunk up to this granule. */
static void chunk_cut(struct cursor *cursor, uint16_t cut)
{
    invariant(load_plain(&cursor->at) - load_plain(&cursor->start) <= cut && cut <= CHUNK_GRANULES);
    owned_store(&chunk_of(cursor)->cut, cut);
    cursor->end = load_plain(&cursor->start) + cut;
}

/* The cursor is at the start of a chunk that it fills from now on. */
static void chunk_begin(struct cursor *cursor)
{
    struct run *const chunk = &arena.runs[arena_unit(cursor_start(cursor))];
    invariant(load_plain(&cursor->at) == load_plain(&cursor->start));
    const uint32_t life = samples_life();
    owned_store(&chunk->life, life);
    chunk_cut(cursor, life != 0 ? random_cut(0) : CHUNK_GRANULES);
}

/* Notes which pages the cursor has reached. */
static void cursor_touch(const struct cursor *cursor)
{
    char *const start = cursor_start(cursor);
    const uint64_t granules = load_plain(&cursor->at) - load_plain(&cursor->start);
    invariant(granules <= CHUNK_GRANULES);
    if (granules != 0) {
        pages_set(start, start + (granules << GRANULE_SHIFT), true);
    }
}

/* Before the cursor leaves its chunk or starts anew in it. */
static void cursor_leave(struct cursor *cursor)
{
    cursor_touch(cursor);
    counter_add(&cursor->allocated_granules, load_plain(&cursor->at) - load_plain(&cursor->start));
}

/* Attaches the cursor to a chunk in which no object lives, or to none. */
static void cursor_set(struct cursor *cursor, uint64_t start)
{
    const uint64_t at = start == NO_CHUNK ? 0 : start;
    store_plain(&cursor->start, start);
    store_plain(&cursor->at, at);
    store_plain(&cursor->freed, at);
    cursor->end = 0;
    if (start != NO_CHUNK) {
        chunk_begin(cursor);
    }
}

noinline void chunk_try_reset(struct cursor *cursor)
{
    if (chunk_is_empty(cursor) && !chunk_is_frozen(cursor)) {
        const uint64_t start = load_plain(&cursor->start);
        cursor_leave(cursor);
        store_plain(&cursor->at, start);
        store_plain(&cursor->freed, start);
        chunk_begin(cursor);
    }
}

bool chunk_is_cut(const struct cursor *cursor)
{
    return cursor_start(cursor) != NULL && chunk_of(cursor)->cut < CHUNK_GRANULES && !chunk_is_frozen(cursor);
}

bool chunk_pass_cut(struct cursor *cursor, size_t size, size_t alignment)
{
    struct run *const chunk = chunk_of(cursor);
    const uint64_t start = load_plain(&cursor->start), granules = size_code_granules(size_code_of_size(size));
    const uint64_t place = round_up(load_plain(&cursor->at), max_size(alignment >> GRANULE_SHIFT, 1)) - start;
    bool is_sampled = false;
    invariant(chunk_is_cut(cursor) && owned_load(&chunk->life) != 0 && size <= CHUNK_OBJECT_MOST);
    if (!samples_are_on() || place + granules > CHUNK_GRANULES) {
        owned_store(&chunk->cut, CHUNK_GRANULES);
    } else {
        if (chunk->cut < place) { /* in what the alignment skips */
            owned_store(&chunk->cut, random_cut(place));
        }
        is_sampled = chunk->cut < place + granules;
        invariant(chunk->cut >= place);
        if (is_sampled) {
            owned_store(&chunk->cut, random_cut(place + granules));
        }
    }
    cursor->end = start + chunk->cut;
    return is_sampled;
}

/* The place of p's code in the descriptor of its chunk, by what the table says, which nobody asks once all codes have
 * moved: it would get a page of zeros back. NULL: p has none there. */
static atomic_u32 *kept_place(struct run *chunk, unsigned in_table, const void *p)
{
    const size_t granule = (size_t)((const char *)p - arena_address(run_index(chunk))) >> GRANULE_SHIFT;
    invariant(granule < CHUNK_GRANULES && (in_table == 0 || in_table == CODE_KEPT));
    if (in_table == 0 && load_acquire(&chunk->chunk.has_kept) == 0) {
        return NULL;
    }
    for (unsigned i = 0; i < KEPT_CODES; i++) {
        const uint32_t kept = load_acquire(&chunk->chunk.kept[i]);
        if (kept != 0 && kept >> KEPT_SHIFT == granule) {
            return &chunk->chunk.kept[i];
        }
    }
    return NULL;
}

/* Takes the code that is kept for p. 0: there is none, or another thread takes it. */
static noinline unsigned take_kept(struct run *chunk, unsigned in_table, const void *p)
{
    atomic_u32 *const place = kept_place(chunk, in_table, p);
    uint32_t kept = place == NULL ? 0 : load_plain(place);
    return kept != 0 && cas_seq_cst(place, &kept, 0) ? kept & CODE_MASK : 0;
}

bool chunk_free_other(void *p)
{
    const uint32_t first = arena.units[arena_unit(p)].first;
    struct run *const chunk = &arena.runs[first];
    unsigned code = 0;
    if (likely((uintptr_t)p % GRANULE_BYTES == 0)) {
        code = chunk_has_table(first) ? swap_seq_cst(size_code_at(p), 0) : 0U;
        if (unlikely(code == 0 || code == CODE_KEPT)) {
            code = take_kept(chunk, code, p);
        }
    }
    if (unlikely(code == 0)) {
        misuse_no_object(p);
    }
    invariant(code != CODE_KEPT);
    const uint32_t granules = size_code_granules(code);
    return fetch_sub_seq_cst(&chunk->live, granules) == granules;
}

unsigned chunk_code(const void *p)
{
    const uint32_t first = arena.units[arena_unit(p)].first;
    struct run *const chunk = &arena.runs[first];
    if (unlikely((uintptr_t)p % GRANULE_BYTES != 0)) {
        return 0;
    }
    const unsigned code = chunk_has_table(first) ? load_acquire(size_code_at(p)) : 0U;
    if (likely(code != 0 && code != CODE_KEPT)) {
        return code;
    }
    const atomic_u32 *const place = kept_place(chunk, code, p);
    return place == NULL ? 0 : load_plain(place) & CODE_MASK;
}

size_t chunk_usable(const void *p)
{
    const unsigned code = chunk_code(p);
    if (unlikely(code == 0)) {
        misuse_no_object(p);
    }
    return size_code_bytes(code);
}

bool chunk_resize(struct cursor *cursor, void *p, size_t size)
{
    const uint64_t start = granule_at(p);
    const size_t usable = chunk_usable(p);
    if (size > CHUNK_OBJECT_MOST || start + (usable >> GRANULE_SHIFT) != load_plain(&cursor->at) ||
        chunk_is_frozen(cursor)) {
        return size <= usable && size >= usable / 2;
    }
    const unsigned code = size_code_of_size(size);
    if (size_code_granules(code) > cursor->end - start) {
        return false;
    }
    /* A fork may cut the holder between the two: in the child nothing is allocated inside of what the code says. */
    const uint64_t end = start + size_code_granules(code);
    if (end < load_plain(&cursor->at)) {
        cursor_touch(cursor);
        store_relaxed(size_code_at(p), (uint8_t)code);
        store_relaxed(&cursor->at, end);
        /* The next object in the same granules may be sampled, too, but not in a chunk without a life. */
        if (samples_are_on() && owned_load(&chunk_of(cursor)->life) != 0) {
            chunk_cut(cursor, random_cut(end - load_plain(&cursor->start)));
        }
    } else {
        store_relaxed(&cursor->at, end);
        store_relaxed(size_code_at(p), (uint8_t)code);
    }
    return true;
}

void chunk_open(struct cursor *cursor, uint32_t first, uint32_t epoch)
{
    struct run *const slab = &arena.runs[first];
    invariant(cursor_start(cursor) == NULL && slab->kind == RUN_USED && slab->units == CHUNK_UNITS);
    invariant(word_state(load_plain(&slab->word)) == SLAB_EMPTY && load_plain(&arena.units[first].tag) == TAG_NONE);
    for (uint32_t i = 1; i + 1 < CHUNK_UNITS; i++) {
        arena.units[first + i].first = first; /* the depot has set both ends */
    }
    owned_store(&slab->swept_live, 0);
    store_plain(&slab->full, 0);
    store_plain(&slab->chunk.filler, NULL);
    store_plain(&slab->chunk.has_kept, 0);
    for (unsigned i = 0; i < KEPT_CODES; i++) {
        store_plain(&slab->chunk.kept[i], 0);
    }
    for (uint32_t i = 0; i < CHUNK_UNITS; i++) {
        store_plain(&arena.units[first + i].tag, TAG_CHUNK);
    }
    chunk_pass(cursor, first, epoch);
}

void chunk_pass(struct cursor *cursor, uint32_t first, uint32_t epoch)
{
    struct run *const slab = &arena.runs[first];
    invariant(cursor_start(cursor) == NULL && unit_tag(first) == TAG_CHUNK);
    invariant(word_state(load_plain(&slab->word)) == SLAB_EMPTY);
    store_relaxed(&slab->live, CHUNK_OPEN);
    store_relaxed(&slab->word, slab_word(SLAB_ATTACHED, CLASS_NONE, epoch));
    cursor_set(cursor, granule_at(arena_address(first)));
}

void chunk_recycle(uint32_t first)
{
    invariant(unit_tag(first) == TAG_CHUNK);
    arena_untag(first, CHUNK_UNITS);
    store_relaxed(&arena.runs[first].word, SLAB_EMPTY);
    depot_put(first, CHUNK_UNITS, false);
}

bool chunk_is_empty(const struct cursor *cursor)
{
    return load_acquire(&chunk_of(cursor)->live) == CHUNK_OPEN - cursor_alive(cursor);
}

void chunk_end(struct cursor *cursor, struct hold *hold)
{
    struct run *const chunk = chunk_of(cursor);
    invariant(load_plain(&chunk->chunk.filler) == NULL && load_plain(&chunk->full) == 0);
    store_plain(&chunk->full, (uint32_t)(load_plain(&cursor->at) - load_plain(&cursor->start)));
    store_plain(&chunk->chunk.unfreed, cursor_alive(cursor));
    store_plain(&chunk->chunk.filler, hold);
    cursor_leave(cursor);
    cursor_set(cursor, NO_CHUNK);
}

bool chunk_close(uint32_t first)
{
    struct run *const chunk = &arena.runs[first];
    const uint32_t open = CHUNK_OPEN - load_plain(&chunk->chunk.unfreed);
    invariant(unit_tag(first) == TAG_CHUNK && load_plain(&chunk->chunk.filler) != NULL);
    store_plain(&chunk->chunk.filler, NULL);
    return fetch_sub_seq_cst(&chunk->live, open) == open;
}

bool chunk_is_shared(uint32_t first)
{
    invariant(load_plain(&arena.runs[first].chunk.filler) != NULL);
    return load_relaxed(&arena.runs[first].live) != CHUNK_OPEN;
}

bool chunk_pin(uint32_t first)
{
    struct run *const chunk = &arena.runs[first];
    uint32_t live = load_plain(&chunk->live);
    do {
        if (live == 0 || live > CHUNK_GRANULES || live == chunk->swept_live) {
            return false;
        }
    } while (!cas_seq_cst(&chunk->live, &live, live + 1));
    invariant(unit_tag(first) == TAG_CHUNK && chunk->units == CHUNK_UNITS);
    owned_store(&chunk->swept_live, live);
    return true;
}

bool chunk_unpin(uint32_t first)
{
    invariant(load_plain(&arena.runs[first].live) != 0);
    return fetch_sub_seq_cst(&arena.runs[first].live, 1) == 1;
}

static size_t purge_gap(char *from, char *to)
{
    invariant(from <= to && (uintptr_t)from % GRANULE_BYTES == 0);
    const size_t there = from < to ? pages_narrow(&from, &to) : 0;
    return there != 0 && reclaim_pages(from, (size_t)(to - from)) ? there : 0;
}

static uint32_t next_in_table(uint32_t first, uint32_t from, uint32_t *granules)
{
    const char *const start = arena_address(first);
    const atomic_u64 *const codes = (const atomic_u64 *)(uintptr_t)size_code_at(start);
    for (uint32_t at = from; at < CHUNK_GRANULES; at++) {
        if (at % sizeof *codes == 0 && load_acquire(&codes[at / sizeof *codes]) == 0) {
            at += sizeof *codes - 1;
            continue;
        }
        *granules = size_code_granules(chunk_code(start + ((size_t)at << GRANULE_SHIFT)));
        if (*granules != 0) {
            return at;
        }
    }
    return CHUNK_GRANULES;
}

/* They are in the order of their addresses. */
static uint32_t next_kept(uint32_t first, uint32_t from, uint32_t *granules)
{
    invariant(first != 0);
    for (unsigned i = 0; i < KEPT_CODES; i++) {
        const uint32_t kept = load_acquire(&arena.runs[first].chunk.kept[i]);
        *granules = size_code_granules(kept & CODE_MASK);
        if (*granules != 0 && kept >> KEPT_SHIFT >= from) {
            return kept >> KEPT_SHIFT;
        }
    }
    return CHUNK_GRANULES;
}

uint32_t chunk_next(uint32_t first, uint32_t from, uint32_t *granules)
{
    const atomic_u32 *const has_kept = &arena.runs[first].chunk.has_kept;
    if (load_acquire(has_kept) == 0) {
        const uint32_t at = next_in_table(first, from, granules);
        if (load_acquire(has_kept) == 0) {
            return at;
        }
    }
    return next_kept(first, from, granules);
}

/* Nobody allocates in a closed chunk: objects only get fewer. A code is kept before the table sends anybody there, and
 * is dropped again where a free came first. `at` are the granules of n objects that may still live. */
static void move_codes(struct run *chunk, const uint16_t *at, unsigned n)
{
    atomic_u8 *const codes = size_code_at(arena_address(run_index(chunk)));
    unsigned kept = 0;
    invariant(n <= KEPT_CODES);
    for (unsigned i = 0; i < n; i++) {
        atomic_u8 *const place = codes + at[i];
        uint8_t code = load_plain(place);
        invariant(code != CODE_KEPT);
        store_release(&chunk->chunk.kept[kept], (uint32_t)at[i] << KEPT_SHIFT | code);
        if (code != 0 && cas_seq_cst(place, &code, CODE_KEPT)) {
            kept++;
        } else {
            store_relaxed(&chunk->chunk.kept[kept], 0);
        }
    }
    store_seq_cst(&chunk->chunk.has_kept, 1);
    for (unsigned i = 0; i < n; i++) {
        store_release(codes + at[i], 0); /* the next chunk there finds none, even if the page stays */
    }
}

/* Sampled objects are looked for in the table. */
static void keep_codes(uint32_t first, const uint16_t *at, unsigned n)
{
    struct run *const chunk = &arena.runs[first];
    char *const codes = (char *)(uintptr_t)size_code_at(arena_address(first));
    const bool are_pages = CHUNK_GRANULES % os_page_bytes() == 0 && (uintptr_t)codes % os_page_bytes() == 0;
    if (n > KEPT_CODES || owned_load(&chunk->life) != 0 || (!are_pages && !TSLAB_SIM)) {
        return;
    }
    if (chunk_has_table(first)) {
        move_codes(chunk, at, n);
    }
    if (are_pages) {
        (void)os_purge(codes, CHUNK_GRANULES);
    }
}

size_t chunk_purge(uint32_t first)
{
    char *const start = arena_address(first);
    uint16_t objects[KEPT_CODES];
    unsigned n = 0;
    size_t purged = 0, gap = 0; /* where the present gap between objects begins */
    invariant(unit_tag(first) == TAG_CHUNK);
    /* A code that is 0 was cleared by a free, and what its thread wrote to the object came before. */
    uint32_t granules = 0;
    for (uint32_t at = 0; (at = chunk_next(first, at, &granules)) < CHUNK_GRANULES; n++) {
        if (n < KEPT_CODES) {
            objects[n] = (uint16_t)at;
        }
        purged += purge_gap(start + (gap << GRANULE_SHIFT), start + ((size_t)at << GRANULE_SHIFT));
        gap = at += granules;
    }
    invariant(gap <= CHUNK_GRANULES);
    keep_codes(first, objects, n);
    return purged + purge_gap(start + (gap << GRANULE_SHIFT), start + CHUNK_BYTES);
}

/* Adds the objects that start at eight granules, from p on, and their granules. Where all codes are below 128, bytes
 * are counted and added within the word (Warren, Hacker's Delight, 5-1 and 6-1). */
static void count_codes(const char *p, uint64_t codes, uint64_t *objects, uint64_t *granules)
{
    const uint64_t ones = 0x0101010101010101, tops = ones << 7, halves = 0x00ff00ff00ff00ff;
    if (likely((codes & tops) == 0)) {
        const uint64_t pairs = (codes & halves) + (codes >> 8 & halves);
        *objects += bit_count((codes + (tops - ones)) & tops);
        *granules += pairs * 0x0001000100010001 >> 48;
        return;
    }
    for (; codes != 0; codes >>= 8, p += GRANULE_BYTES) {
        const unsigned code = (codes & CODE_MASK) == CODE_KEPT ? chunk_code(p) : codes & CODE_MASK;
        *objects += code != 0;
        *granules += size_code_granules(code);
    }
}

static void count_in_table(const char *start, uint64_t *objects, uint64_t *granules)
{
    const atomic_u64 *const codes = (const atomic_u64 *)(uintptr_t)size_code_at(start);
    for (size_t i = 0; i < CHUNK_GRANULES / sizeof *codes; i++) {
        const uint64_t eight = load_plain(&codes[i]);
        if (eight != 0) { /* most are 0 in a chunk that served little */
            count_codes(start + i * sizeof *codes * GRANULE_BYTES, eight, objects, granules);
        }
    }
}

uint32_t chunk_count(uint32_t first, size_t *bytes)
{
    invariant(first != 0); /* a report may not read plain words of the run */
    uint64_t objects = 0, granules = 0;
    if (chunk_has_table(first)) {
        count_in_table(arena_address(first), &objects, &granules);
    }
    if (!chunk_has_table(first)) { /* from the start, or by now */
        uint32_t one;
        objects = granules = 0;
        for (uint32_t at = 0; (at = next_kept(first, at, &one)) < CHUNK_GRANULES; at += one) {
            objects++;
            granules += one;
        }
    }
    invariant(objects <= granules);
    *bytes = granules << GRANULE_SHIFT;
    return (uint32_t)objects;
}

uint32_t chunk_granules(uint32_t first)
{
    size_t bytes;
    (void)chunk_count(first, &bytes);
    return (uint32_t)(bytes >> GRANULE_SHIFT);
}

void chunk_end_objects(uint32_t first)
{
    invariant(unit_tag(first) == TAG_CHUNK && load_plain(&arena.runs[first].chunk.filler) == NULL);
    atomic_u64 *const codes = (atomic_u64 *)(uintptr_t)size_code_at(arena_address(first));
    /* Where the codes moved, the table's pages are mostly gone. */
    for (size_t i = 0; i < CHUNK_GRANULES / sizeof *codes; i++) {
        if (load_plain(&codes[i]) != 0) {
            store_plain(&codes[i], 0);
        }
    }
    live_bits_forget(arena_address(first), CHUNK_BYTES);
}

/* Each store clears eight codes: the free of a wild pointer may look at them at any time. The chunk starts with a unit,
 * so the first eight are aligned, and no object starts in the last eight behind the end. */
static void clear_codes(const char *start, uint64_t granules)
{
    invariant((uintptr_t)start % UNIT_BYTES == 0 && granules <= CHUNK_GRANULES);
    store_plain_zeros((atomic_u64 *)(uintptr_t)size_code_at(start), (granules + 7) / sizeof(uint64_t));
    live_bits_forget(start, granules << GRANULE_SHIFT);
}

void chunk_reset(struct cursor *cursor)
{
    if (cursor_alive(cursor) != 0) {
        clear_codes(cursor_start(cursor), load_plain(&cursor->at) - load_plain(&cursor->start));
    }
    store_relaxed(&chunk_of(cursor)->live, CHUNK_OPEN);
    cursor_leave(cursor);
    cursor_set(cursor, load_plain(&cursor->start));
    invariant(cursor_alive(cursor) == 0 && !chunk_is_frozen(cursor));
}

bool chunk_is_sparse(uint32_t first)
{
    const struct run *const chunk = &arena.runs[first];
    const uint32_t alive = load_plain(&chunk->chunk.unfreed) - (CHUNK_OPEN - load_relaxed(&chunk->live));
    invariant(alive <= load_plain(&chunk->full));
    return alive < load_plain(&chunk->full) - load_plain(&chunk->full) / 4;
}

void chunk_recount(struct cursor *cursor)
{
    struct run *const slab = chunk_of(cursor);
    store_relaxed(&slab->live, CHUNK_OPEN);
    store_plain(&cursor->freed, load_plain(&cursor->at) - chunk_granules(run_index(slab)));
}

void chunk_recount_full(uint32_t first)
{
    invariant(load_plain(&arena.runs[first].chunk.filler) != NULL);
    store_relaxed(&arena.runs[first].live, CHUNK_OPEN);
    store_plain(&arena.runs[first].chunk.unfreed, chunk_granules(first));
}

void chunk_abandon(struct cursor *cursor)
{
    if (cursor_start(cursor) != NULL) {
        cursor_leave(cursor);
    }
    cursor_set(cursor, NO_CHUNK);
}

uint32_t chunk_take(struct cursor *cursor)
{
    const uint32_t first = run_index(chunk_of(cursor));
    invariant(chunk_is_empty(cursor));
    chunk_abandon(cursor);
    store_relaxed(&arena.runs[first].word, SLAB_EMPTY);
    return first;
}

void chunk_freeze(struct cursor *cursor)
{
    invariant(cursor->end >= load_plain(&cursor->at));
    if (cursor_start(cursor) != NULL) {
        owned_store(&chunk_of(cursor)->cut,
                    CHUNK_GRANULES); /* that the end differs from it shows that the chunk is frozen */
    }
    cursor->end = load_plain(&cursor->at);
}

void chunk_drop(struct cursor *cursor)
{
    if (cursor_start(cursor) == NULL) {
        return;
    }
    chunk_reset(cursor);
    const uint32_t first = run_index(chunk_of(cursor));
    cursor_set(cursor, NO_CHUNK);
    chunk_recycle(first);
}
