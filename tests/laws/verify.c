/* Conservation laws that can be run. verify.h says what each says. */
#include "verify.h"

#include "audit/accounts.h"
#include "os/fatal.h"
#include "os/os.h"
#include "slab/partial_list.h"
#include "space/depot.h"
#include "space/growth.h"
#include "space/live_bits.h"
#include "space/pages.h"
#include "thread/exchange.h"
#include "thread/keeper.h"

#include <string.h>
#include <sys/mman.h>

/* Slabs. */

void verify_slab(const struct run *slab)
{
    const uint32_t first = run_index(slab), word = load_plain(&slab->word);
    const unsigned class = word_class(word);
    invariant(word_state(word) != SLAB_EMPTY && class != CLASS_NONE && class < CLASS_LIMIT);
    const struct class_geometry *geometry = &class_geometry[class];
    invariant(slab->kind == RUN_USED && slab->units == geometry->units);
    const uint32_t tag = unit_tag(first);
    invariant(tag_class(tag) == class);
    for (uint32_t unit = first; unit < first + geometry->units; unit++) {
        invariant(unit_tag(unit) == tag);
        invariant(arena.units[unit].first == first);
    }
    for (unsigned w = 0; w < geometry->words; w++) {
        invariant((load_plain(&slab->bitmap[w]) & ~class_word_mask(geometry, w)) == 0);
    }
}

void verify_slab_at_rest(const struct run *slab)
{
    verify_slab(slab);
    const struct class_geometry *geometry = &class_geometry[word_class(load_plain(&slab->word))];
    unsigned whole = 0;
    for (unsigned w = 0; w < geometry->words; w++) {
        whole += load_plain(&slab->bitmap[w]) == class_word_mask(geometry, w);
    }
    invariant(load_plain(&slab->full) == whole);
    const char *const start = arena_address(run_index(slab)), *const end = start + ((size_t)slab->units << UNIT_SHIFT);
    invariant(slab->gone_pages * os_page_bytes() <= pages_gone_bytes(start, end));
}

/* Whether the pages of each slot that is out of the slab are there. Of a slab that nobody holds: no slot is claimed. */
static bool pages_are_as_lent(const struct run *slab, const struct class_geometry *geometry)
{
    const char *const start = arena_address(run_index(slab));
    struct slot_set out;
    slot_set_read(&out, slab, geometry);
    for (unsigned w = 0; w < geometry->words; w++) {
        out.word[w] = ~out.word[w] & class_word_mask(geometry, w);
    }
    size_t gone = 0;
    for (struct slot_row row = { .end = 0 }; slot_set_next_row(&out, geometry, &row);) {
        gone += pages_gone_bytes(start + (size_t)row.begin * geometry->size, start + (size_t)row.end * geometry->size);
    }
    return gone == 0;
}

/* Lists of partial slabs. */

static void verify_partial(struct partial_list *partial, uint32_t epoch)
{
    partial_begin_look(partial);
    uint32_t before = 0, length = 0;
    for (uint32_t at = load_plain(&partial->head); at != 0; at = arena.runs[at].next) {
        const struct run *slab = &arena.runs[at];
        length++;
        invariant(length <= counter_get(&partial->length));
        invariant(slab->prev == before && load_plain(&slab->word) == slab_word(SLAB_PARTIAL, partial->class, epoch));
        verify_slab(slab);
        const struct class_geometry *const geometry = &class_geometry[partial->class];
        invariant(slab_has_any(slab, geometry) && pages_are_as_lent(slab, geometry));
        before = at;
    }
    invariant(length == counter_get(&partial->length) && (length == 0 || partial->tail == before));
    partial_end_look(partial);
}

void verify_partials(const struct epoch *epoch)
{
    struct partial_list *const partials = epoch_partials(epoch);
    for (unsigned c = 1; partials != NULL && c < CLASS_LIMIT; c++) {
        invariant(partials[c].class == c);
        verify_partial(&partials[c], epoch->id);
    }
}

/* Heaps. */

static void verify_slot(void *p, unsigned class)
{
    invariant(arena_has_unit(arena_unit(p)) && arena_tag(p) != TAG_NONE);
    invariant(tag_class(arena_tag(p)) == class && slot_starts(p, class));
    const struct slot slot = slot_of(p, class);
    invariant((load_plain(&slot.slab->bitmap[slot.word]) & slot.mask) == 0);
    invariant(!TSLAB_CHECKED || !live_bits_have(p));
}

/* Visits each slot that waits in a place. */
typedef void verify_visit(void *slot, unsigned class);

static void visit_places(void *const *places, uint64_t slots, unsigned class, verify_visit *visit)
{
    invariant(slots == 0 || places[0] == NULL);
    for (uint64_t i = 1; i <= slots; i++) {
        visit(places[i], class);
    }
}

/* Returns how many slots there are. */
static uint64_t visit_trays(const struct tray *trays, unsigned class, verify_visit *visit)
{
    uint64_t sum = 0;
    for (const struct tray *tray = trays; tray != NULL; tray = tray->next) {
        invariant(tray->count != 0 && tray->count <= tray->length);
        visit_places((void *const *)(tray + 1), tray->count, class, visit);
        sum += tray->count;
    }
    return sum;
}

static void visit_class(const struct heap *heap, unsigned class, verify_visit *visit)
{
    const struct heap_class *hc = heap_class_of(heap, class);
    const struct magazine *m = &heap->front.magazine[class];
    const unsigned limit = m->limit;
    invariant(heap_uses(heap, class) || ((limit | hc->outbox_limit) == 0 && hc->slab == NULL));
    void **const places = magazine_places(m), **const tray = places - hc->taken_below;
    const uint64_t slots = magazine_slots(m);
    invariant(slots <= limit && (limit == 0 || limit + hc->taken_below <= tray_of(tray)->length));
    if (hc->bar != 0 && hc->bar <= slots && places[hc->bar] == NULL) { /* a bar is in the place of a slot */
        visit_places(places, hc->bar - 1, class, visit);
        visit(hc->barred, class);
        visit_places(places + hc->bar, slots - hc->bar, class, visit);
    } else {
        visit_places(places, slots, class, visit);
    }
    const uint32_t kept = counter_get(&hc->kept_slots);
    invariant(kept == 0 || visit_trays(hc->kept, class, visit) == kept);
    invariant(counter_get(&hc->outbox_slots) <= hc->outbox_limit);
    visit_places(hc->outbox, counter_get(&hc->outbox_slots), class, visit);
    for (uint64_t claimed = load_plain(&hc->claimed); claimed != 0; claimed &= claimed - 1) {
        visit(hc->claimed_start + (size_t)bit_lowest(claimed) * class_geometry[class].size, class);
    }
}

static void verify_cached(const struct heap *heap, verify_visit *visit)
{
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        visit_class(heap, c, visit);
    }
}

static void verify_exchange(verify_visit *visit)
{
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        invariant(visit_trays(exchanges[c].trays, c, visit) == exchange_slots(c));
    }
}

static void verify_attached(const struct heap *heap, unsigned class)
{
    const struct heap_class *hc = heap_class_of(heap, class);
    invariant(hc->slab != NULL || load_plain(&hc->claimed) == 0);
    if (hc->slab != NULL) {
        invariant(load_plain(&hc->slab->word) == slab_word(SLAB_ATTACHED, class, heap->epoch->id));
        verify_slab(hc->slab);
        invariant(load_plain(&hc->claimed) == 0 || slot_of(hc->claimed_start, class).slab == hc->slab);
    }
}

void verify_heap(const struct heap *heap)
{
    size_t limits = 0;
    verify_cached(heap, verify_slot);
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        verify_attached(heap, c);
        limits +=
            (size_t)(heap->front.magazine[c].limit + heap_class_of(heap, c)->outbox_limit) * class_geometry[c].size;
    }
    invariant(limits == heap->limit_bytes);
}

/* The depot. */

struct tally {
    size_t units[RUN_KINDS], runs[RUN_KINDS];
    size_t with_tables;
    uint32_t longest; /* run of the bins so far of a kind */
};

static bool waits_with_tables(const struct run *run)
{
    return run->kind == RUN_CLEAN && run->empty.tables_gone == 0 && run->units >= RUN_TABLES_UNITS_MIN;
}

/* Of a long run only the first units are looked at, and the last: its part of the side tables may have no pages. */
static void verify_empty(uint32_t first)
{
    const struct run *run = &arena.runs[first];
    invariant(word_state(load_plain(&run->word)) == SLAB_EMPTY && run->gone_pages == 0);
    for (uint32_t i = 0; i < run->units && i < RUN_TABLES_UNITS_MIN; i++) {
        invariant(load_plain(&arena.units[first + i].tag) == TAG_NONE);
    }
    invariant(load_plain(&arena.units[first + run->units - 1].tag) == TAG_NONE);
    const char *const start = arena_address(first), *const end = arena_address(first + run->units);
    invariant(run->kind < RUN_CLEAN || (((uintptr_t)start | (uintptr_t)end) % os_page_bytes() == 0));
    invariant(run->kind < RUN_CLEAN || pages_gone_bytes(start, end) == (size_t)(end - start));
}

static void verify_tiles(struct tally *tally)
{
    const size_t end = load_plain(&arena.committed_units);
    unsigned before = RUN_USED;
    for (uint32_t at = 1; at < end;) {
        if (arena.units[at].first == 0) { /* a gap: its descriptors may not even be there */
            invariant(load_plain(&arena.units[at].tag) == TAG_NONE);
            before = RUN_USED;
            at++;
            continue;
        }
        const struct run *run = &arena.runs[at];
        invariant(arena.units[at].first == at && run->units > 0 && run->units <= end - at);
        invariant(arena.units[at + run->units - 1].first == at);
        invariant(run->kind < RUN_KINDS && (run->kind == RUN_USED || run->kind != before));
        if (run->kind != RUN_USED) {
            verify_empty(at);
        }
        tally->units[run->kind] += run->units;
        tally->runs[run->kind]++;
        tally->with_tables += waits_with_tables(run);
        before = run->kind;
        at += run->units;
    }
    invariant(tally->units[RUN_USED] == counter_get(&depot.units[RUN_USED]));
    invariant(counter_get(&depot.purging_units) <= tally->units[RUN_USED]);
}

static void verify_bin(unsigned kind, unsigned bin, struct tally *binned)
{
    const uint32_t head = bin_first(kind, bin);
    invariant(bin_has(kind, bin) == (head != 0));
    uint32_t before = 0, longest = binned->longest;
    for (uint32_t at = head; at != 0; at = arena.runs[at].next) {
        const struct run *run = &arena.runs[at];
        invariant(run->prev == before && run->kind == kind && bin_of(run->units) == bin);
        invariant(run->units > binned->longest);
        longest = run->units > longest ? run->units : longest;
        binned->runs[kind]++;
        binned->units[kind] += run->units;
        invariant(binned->units[kind] <= counter_get(&depot.units[kind]));
        before = at;
    }
    binned->longest = longest;
}

/* Returns how many runs the list has. */
static size_t verify_ages(const struct run_list *list, bool dirty, size_t most)
{
    size_t n = 0;
    uint32_t before = 0;
    for (uint32_t at = list->head; at != 0; at = arena.runs[at].empty.next) {
        const struct run *run = &arena.runs[at];
        n++;
        invariant(n <= most && run->empty.prev == before);
        invariant(dirty ? run->kind == RUN_DIRTY : waits_with_tables(run));
        invariant(!dirty || before == 0 || arena.runs[before].empty.dirty_since_ms <= run->empty.dirty_since_ms);
        before = at;
    }
    invariant(list->tail == before);
    return n;
}

void verify_depot(void)
{
    lock_acquire(&depot.lock);
    struct tally tiles = { .with_tables = 0 }, binned = { .with_tables = 0 };
    for (unsigned kind = RUN_USED + 1; kind < RUN_KINDS; kind++) {
        binned.longest = 0;
        for (unsigned bin = 0; bin < BINS; bin++) {
            verify_bin(kind, bin, &binned);
        }
        invariant(binned.units[kind] == counter_get(&depot.units[kind]));
    }
    const size_t with_tables = verify_ages(&depot.with_tables, false, binned.runs[RUN_CLEAN]);
    invariant(verify_ages(&depot.aged, true, binned.runs[RUN_DIRTY]) == binned.runs[RUN_DIRTY]);
    const uint32_t oldest = depot.aged.head;
    invariant(load_plain(&depot.oldest_ms) == (oldest == 0 ? UINT64_MAX : arena.runs[oldest].empty.dirty_since_ms));
    if (counter_get(&depot_usage.lost_units) == 0) {
        verify_tiles(&tiles);
        invariant(with_tables == tiles.with_tables);
        for (unsigned kind = RUN_USED + 1; kind < RUN_KINDS; kind++) {
            invariant(binned.runs[kind] == tiles.runs[kind] && binned.units[kind] == tiles.units[kind]);
        }
    }
    lock_release(&depot.lock);
}

/* Chunks. */

static void verify_chunk_run(uint32_t first)
{
    const struct run *run = &arena.runs[first];
    const uint32_t word = load_plain(&run->word);
    invariant(run->kind == RUN_USED && run->units == CHUNK_UNITS);
    invariant(word_state(word) == SLAB_ATTACHED && word_class(word) == CLASS_NONE);
    for (uint32_t unit = first; unit < first + CHUNK_UNITS; unit++) {
        invariant(unit_tag(unit) == TAG_CHUNK && !unit_is_sampled(unit) && arena.units[unit].first == first);
    }
}

/* Granules of the objects in a chunk. No code stands inside of an object, nor beyond so many granules. */
static uint64_t verify_codes(uint32_t first, uint64_t passed)
{
    uint64_t sum = 0, end = 0;
    for (uint64_t at = 0; at < CHUNK_GRANULES; at++) {
        const uint32_t granules = size_code_granules(code_at(arena_address(first) + (at << GRANULE_SHIFT)));
        if (granules != 0) {
            invariant(at >= end);
            end = at + granules;
            invariant(end <= passed);
            sum += granules;
        }
    }
    return sum;
}

/* The count is read first: others clear a code, then count. Returns how much more is counted than there is. */
static uint64_t verify_open_chunk(const struct cursor *cursor)
{
    const uint64_t start = load_plain(&cursor->start), at = load_plain(&cursor->at), freed = load_plain(&cursor->freed);
    const uint32_t first = (uint32_t)arena_unit(cursor_start(cursor));
    verify_chunk_run(first);
    invariant(start <= freed && freed <= at && at <= cursor->end && cursor->end <= start + CHUNK_GRANULES);
    const uint64_t freed_by_others = CHUNK_OPEN - load_acquire(&arena.runs[first].live);
    invariant(freed_by_others <= at - freed);
    const uint64_t counted = at - freed - freed_by_others, granules = verify_codes(first, at - start);
    invariant(granules <= counted);
    return counted - granules;
}

void verify_cursor(const struct cursor *cursor)
{
    if (cursor_start(cursor) != NULL) {
        (void)verify_open_chunk(cursor);
    }
}

/* Epochs. */

void verify_epoch(struct epoch *epoch)
{
    lock_acquire(epoch_lock(epoch));
    uint32_t before = 0, runs = 0, units = 0;
    for (uint32_t at = epoch->runs; at != 0; at = arena.runs[at].of_epoch.next) {
        const struct run *run = &arena.runs[at];
        invariant(run->of_epoch.prev == before && run->kind == RUN_USED && arena.units[at].first == at);
        invariant(word_epoch(load_plain(&run->word)) == epoch->id);
        runs++;
        units += load_plain(&arena.units[at].tag) == TAG_LARGE ? 0 : run->units; /* its owner may resize it */
        invariant(runs <= load_plain(&epoch->pins) && units <= counter_get(&epoch->run_units));
        before = at;
    }
    for (const struct hold *hold = epoch_first_hold(epoch); hold != NULL; hold = hold_next(hold)) {
        const struct hold *const real = hold->real; /* NULL: the record is idle, and its pages were given back */
        invariant(real == hold || (real == NULL && hold == &epoch->first));
    }
    lock_release(epoch_lock(epoch));
}

static void verify_closed_chunks(const struct epoch *epoch)
{
    for (uint32_t at = epoch->runs; at != 0; at = arena.runs[at].of_epoch.next) {
        if (unit_tag(at) == TAG_CHUNK) {
            verify_chunk_run(at);
            const uint64_t granules = verify_codes(at, CHUNK_GRANULES);
            const uint32_t live = load_plain(&arena.runs[at].live);
            const bool is_full = load_plain(&arena.runs[at].chunk.filler) != NULL;
            invariant(is_full || granules != 0);
            invariant(granules == (is_full ? load_plain(&arena.runs[at].chunk.unfreed) - (CHUNK_OPEN - live) : live));
        } else {
            invariant(load_plain(&arena.units[at].tag) != TAG_NONE);
        }
    }
}

/* All runs of an epoch at rest are as long together as is counted. */
static void verify_run_units(const struct epoch *epoch)
{
    uint32_t units = 0;
    for (uint32_t at = epoch->runs; at != 0; at = arena.runs[at].of_epoch.next) {
        units += arena.runs[at].units;
    }
    invariant(units == counter_get(&epoch->run_units));
}

void verify_epoch_at_rest(struct epoch *epoch)
{
    verify_epoch(epoch);
    verify_run_units(epoch);
    verify_closed_chunks(epoch);
    const uint64_t word = load_plain(&epoch->word);
    const enum epoch_state state = epoch_word_state(word);
    uint64_t held = state == EPOCH_OPEN ? 1 : 0;
    for (const struct hold *hold = epoch_first_hold(epoch); hold != NULL; hold = hold_next(hold)) {
        const struct heap *heap = load_acquire(&hold->heap);
        held += load_plain(&hold->holder) != HOLD_TAKEN;
        if (heap != NULL) {
            verify_heap(heap);
        }
        if (cursor_start(&hold->cursor) != NULL) {
            invariant(verify_open_chunk(&hold->cursor) == 0);
        }
    }
    invariant(held == epoch_word_held(word));
    invariant(state != EPOCH_FREE || epoch->runs == 0);
}

/* A walk is no step of the engine's. */
static struct epoch *next_epoch(uint32_t *at)
{
    struct epoch *const epoch = epoch_next(at);
    counter_add_shared(&epoch_visits, TSLAB_CHECKED && epoch != NULL ? UINT64_MAX : 0);
    return epoch;
}

void verify_shared(void)
{
    verify_depot();
    verify_partials(&epoch_process);
    uint32_t at = 0;
    for (struct epoch *epoch; (epoch = next_epoch(&at)) != NULL;) {
        verify_epoch(epoch);
        verify_partials(epoch);
    }
}

/* The accounts. */

void verify_accounts(void)
{
    struct accounts accounts;
    const struct accounts_gap gap = accounts_take(&accounts, RESIDENT_UNTOLD);
    uint64_t sum = 0;
    for (unsigned i = 0; i < ACCOUNTS; i++) {
        sum += account_of(&accounts, i)->bytes;
    }
    invariant(gap.runs == 0 && gap.slots == 0);
    invariant(sum == accounts.committed_bytes && accounts.untouched_bytes <= sum);
}

/* The whole. A bit for each granule of the arena marks the slots that are cached: in checked builds it is that of what
 * lives, which cached slots do not. */

#if TSLAB_CHECKED
#define MARKS arena.live
#else
#define MARKS own_marks()
static atomic_u64 *own_marks(void)
{
    static atomic_u64 *marks;
    if (marks == NULL) {
        marks = mmap(NULL, (arena.span_units << UNIT_SHIFT) / GRANULE_BYTES / 8, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        invariant(marks != MAP_FAILED);
    }
    return marks;
}
#endif

static atomic_u64 *mark_of(const void *p, uint64_t *mask)
{
    const size_t granule = ((uintptr_t)p - arena.base) >> GRANULE_SHIFT;
    *mask = (uint64_t)1 << (granule % 64);
    return &MARKS[granule / 64];
}

static bool is_marked(const void *p)
{
    uint64_t mask;
    const atomic_u64 *const word = mark_of(p, &mask);
    return (load_plain(word) & mask) != 0;
}

/* Visits what the heaps of all records and of all epochs cache, and what waits in the exchange. */
static void visit_all(verify_visit *visit)
{
    verify_exchange(visit);
    for (const struct thread *thread = load_acquire(&registry.made); thread != NULL; thread = thread->made_before) {
        verify_cached(&thread->heap, visit);
    }
    for (const struct heap *heap = load_acquire(&heap_made); heap != NULL; heap = heap->made_before) {
        verify_cached(heap, visit);
    }
}

static void mark_cached(void *p, unsigned class)
{
    verify_slot(p, class);
    uint64_t mask;
    atomic_u64 *const word = mark_of(p, &mask);
    const uint64_t before = fetch_or_plain(word, mask);
    invariant((before & mask) == 0); /* it is cached once */
}

static void unmark_cached(void *p, unsigned class)
{
    (void)class;
    uint64_t mask;
    atomic_u64 *const word = mark_of(p, &mask);
    (void)fetch_and_plain(word, ~mask);
}

/* A slot is in the bitmap, or is marked, or lives. Returns how many are none of these. */
static size_t verify_slots(const struct run *slab)
{
    verify_slab_at_rest(slab);
    const enum slab_state state = word_state(load_plain(&slab->word));
    const struct class_geometry *geometry = &class_geometry[word_class(load_plain(&slab->word))];
    size_t lost = 0;
    for (unsigned slot = 0; slot < geometry->slots; slot++) {
        const bool bit = (load_plain(&slab->bitmap[slot / WORD_SLOTS]) >> (slot % WORD_SLOTS) & 1) != 0;
        const bool elsewhere = is_marked(arena_address(run_index(slab)) + (size_t)slot * geometry->size);
        invariant(!bit || !elsewhere);
        lost += TSLAB_CHECKED && !bit && !elsewhere;
    }
    invariant(state != SLAB_FULL || !slab_has_any(slab, geometry));
    invariant(state != SLAB_PARTIAL || !slab_has_all(slab, geometry));
    return lost;
}

static size_t verify_objects_of_chunk(uint32_t first)
{
    const char *const start = arena_address(first);
    size_t lost = 0;
    for (size_t at = 0; at < CHUNK_BYTES; at += GRANULE_BYTES) {
        const bool code = code_at(start + at) != 0, lives = live_bits_have(start + at);
        invariant(code || !lives);
        lost += code && !lives;
    }
    return lost;
}

static size_t verify_objects(void)
{
    const size_t end = load_plain(&arena.committed_units);
    size_t lost = 0;
    for (uint32_t at = 1; at < end;) {
        const struct run *run = &arena.runs[at];
        const uint32_t tag = unit_tag(at);
        if (arena.units[at].first != at) {
            at++; /* a gap */
            continue;
        }
        if (tag_class(tag) != CLASS_NONE) {
            lost += verify_slots(run);
        } else if (TSLAB_CHECKED && tag == TAG_CHUNK) {
            lost += verify_objects_of_chunk(at);
        } else if (TSLAB_CHECKED && tag == TAG_LARGE) {
            lost += !live_bits_have(arena_address(at));
        }
        at += run->units;
    }
    return lost;
}

static void verify_labels(void)
{
    uint64_t units[LABELS_LIMITED] = { 0 };
    const struct epoch *epoch;
    for (uint32_t id = EPOCH_PROCESS + 1; (epoch = epoch_by_id(id)) != NULL; id++) {
        if (epoch->label_quota != NULL) {
            units[epoch->label_quota - label_quotas.labels] += counter_get(&epoch->run_units);
        }
    }
    for (unsigned i = 0; i < LABELS_LIMITED; i++) {
        invariant(units[i] == counter_get(&label_quotas.labels[i].quota.units));
    }
}

size_t verify_whole(void)
{
    verify_shared();
    for (const struct thread *thread = registry.live; thread != NULL; thread = thread->next) {
        verify_heap(&thread->heap);
    }
    uint32_t at = 0;
    for (struct epoch *epoch; (epoch = next_epoch(&at)) != NULL;) {
        verify_epoch_at_rest(epoch);
    }
    verify_labels();
    if (counter_get(&depot_usage.lost_units) != 0) {
        return 0;
    }
    visit_all(mark_cached);
    const size_t lost = verify_objects();
    visit_all(unmark_cached);
    return lost;
}

#if TSLAB_CHECKED && !TSLAB_SIM

/* The walks that run by themselves look at no more than what cannot change meanwhile. */

static size_t cut; /* threads, by forks */

static void verify_if_alone(struct thread *self)
{
    if (!lock_try(&self->gate.lock)) {
        return;
    }
    lock_release(&self->gate.lock);
    if (!lock_try(&keeper.lock)) {
        return;
    }
    if (!lock_try(&registry.lock)) {
        lock_release(&keeper.lock);
        return;
    }
    gate_lock(&self->gate);
    if (registry.live == self && self->next == NULL) {
        enum { IN_HAND = 2 /* a resize frees and allocates */ };
        const size_t lost = verify_whole();
        invariant(lost <= IN_HAND * cut || os_has_threads()); /* threads without a record may be about to free */
        if (cut == 0 && !os_has_threads()) {
            verify_accounts();
        }
    }
    gate_unlock(&self->gate);
    lock_release(&registry.lock);
    lock_release(&keeper.lock);
}

/* Unless a signal has cut the forking thread in the middle of something, as the ranks of its locks say. */
static void verify_at_fork(struct thread *self, uint64_t ranks)
{
    if (self != NULL && ranks == 0 && lock_try(&self->gate.lock)) {
        verify_shared();
        lock_release(&self->gate.lock);
    }
}

/* By now the record may be another epoch's, for which the same holds. */
static void verify_record(uint64_t value)
{
    const uint32_t id = (uint32_t)(value & bit_mask(EPOCH_GENERATION_SHIFT));
    struct epoch *epoch = epoch_by_id(id);
    if (id > EPOCH_PROCESS && epoch != NULL && epoch->id == id) {
        verify_epoch(epoch);
        verify_partials(epoch);
    }
}

/* Every so often the thread's own heaps and cursors, and more rarely the depot. */
static void verify_often(struct thread *self)
{
    enum { OPERATIONS = 256, ROUNDS = 64 };
    static per_thread uint32_t operations;
    if (++operations % OPERATIONS != 0) {
        return;
    }
    gate_lock(&self->gate);
    verify_heap(&self->heap);
    for (const struct hold *hold = self->scope; hold != NULL; hold = hold->outer) {
        verify_cursor(&hold->real->cursor);
        if (load_plain(&hold->real->heap) != NULL) {
            verify_heap(load_plain(&hold->real->heap));
        }
    }
    if (operations / OPERATIONS % ROUNDS == 0) {
        verify_depot();
    }
    gate_unlock(&self->gate);
}

/* verify_if_alone: when this thread alone has a record, and none can get one meanwhile; unless, at the end of the
 * program, a signal has cut the thread in a slow operation. */
static void laws_at(enum moment moment, struct thread *self, uint64_t value)
{
    switch (moment) {
    case MOMENT_SLOW_END:
        verify_often(self);
        break;
    case MOMENT_TRIMMED:
        verify_heap(&self->heap);
        verify_shared();
        break;
    case MOMENT_ALONE:
        verify_if_alone(self);
        break;
    case MOMENT_CLOSED:
        verify_record(value);
        break;
    case MOMENT_FORK:
        verify_at_fork(self, value);
        break;
    case MOMENT_CUT:
        cut += value;
        break;
    }
}

void (*const laws_link)(enum moment, struct thread *, uint64_t) = laws_at;

__attribute__((constructor)) static void laws_begin(void)
{
    laws = laws_link;
}

#endif
