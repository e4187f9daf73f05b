/* When sampling begins or its rate changes, all gates are taken, as for a fork. The holders of heaps may push and pop
 * meanwhile, and the words that they write are owned (atomic.h). */
#include "report/profile.h"

#include "audit/census.h"
#include "common/option.h"
#include "common/random.h"
#include "malloc/current_thread.h"
#include "os/call_stack.h"
#include "os/fatal.h"
#include "os/os.h"
#include "os/sink.h"
#include "os/text.h"
#include "report/epoch_list.h"
#include "slab/chunk.h"
#include "thread/keeper.h"
#include "thread/sampling.h"

#include <string.h>
#include <tslab/tslab.h>

/* On and off. The keeper's lock keeps two threads that switch, and a fork, apart. */

static void gates(void (*change)(struct lock *))
{
    invariant(lock_is_held(&registry.lock));
    for (struct thread *thread = registry.live; thread != NULL; thread = thread->next) {
        change(&thread->gate.lock);
    }
}

static unsigned stop_counts(unsigned times)
{
    unsigned stopped = 0;
    invariant(samples_were_on() && counter_get(&samples.changes) != 0);
    invariant(lock_is_held(&registry.lock) && lock_is_held(&keeper.lock));
    for (struct thread *thread = load_acquire(&registry.made); thread != NULL; thread = thread->made_before) {
        stopped += sampling_stop(&thread->heap, times);
    }
    for (struct heap *heap = load_acquire(&heap_made); heap != NULL; heap = heap->made_before) {
        stopped += sampling_stop(heap, times);
    }
    return stopped;
}

/* A stop may meet a write of the fast path, which is done and seen by all some nanoseconds later, and undoes it. So it
 * is repeated, many times in a row: a thread in a short loop undoes single ones a hundred times
 * (docs/decisions/profiles.md). */
static void stop_all_counts(void)
{
    enum { STOPS_MOST = 100, IN_A_ROW = TSLAB_SIM ? 1 : 64, PAUSE_SPINS = TSLAB_SIM ? 1 : 1000 };
    for (unsigned i = 0; i < STOPS_MOST && stop_counts(i == 0 ? 1 : IN_A_ROW) != 0; i++) {
        for (unsigned spin = 0; spin < PAUSE_SPINS; spin++) {
            cpu_relax();
        }
    }
}

/* With all gates taken, no other thread places a count or changes the affinity of a slab as it did before
 * samples.were_on was set.
 *
 * Signals are blocked, because a handler might fork, and would wait for its own thread. */
static void switch_on(uint64_t period)
{
    struct os_signals signals;
    invariant(lock_is_held(&keeper.lock) && period != 0);
    if (load_plain(&samples.seed) == 0) {
        store_plain(&samples.seed, os_random());
    }
    os_signals_hold(&signals);
    lock_acquire(&registry.lock);
    gates(lock_acquire);
    store_plain(&samples.period, period);
    counter_add(&samples.changes, 1);
    store_seq_cst(&samples.is_on, 1);
    stop_all_counts();
    gates(lock_release);
    lock_release(&registry.lock);
    os_signals_restore(&signals);
}

bool profile_set(uint64_t period)
{
    if (period == 0 && load_plain(&samples.is_on) == 0) {
        return true;
    }
    struct thread *const thread = current_thread_get();
    if (thread == NULL) {
        return false;
    }
    gate_lock(&thread->gate);
    const bool started = samples_start();
    gate_unlock(&thread->gate);
    if (!started) {
        current_thread_put(thread);
        return false;
    }
    stack_prepare();
    lock_acquire(&keeper.lock);
    if (period != 0) {
        switch_on(period);
    } else {
        store_seq_cst(&samples.is_on, 0);
        gate_lock(&thread->gate);
        samples_end_all();
        gate_unlock(&thread->gate);
    }
    lock_release(&keeper.lock);
    current_thread_put(thread);
    return true;
}

/* Living objects. */

bool profile_live(uint32_t number, struct sample *sample, uint64_t *bytes)
{
    if (!samples_copy(number, sample) || samples_is_dead(sample)) {
        return false;
    }
    const char *const p = (const char *)sample->address;
    invariant(sample->address != 0 && sample->stack <= load_plain(&samples.stacks));
    /* It may be freed meanwhile. */
    *bytes = sample->run != 0 ? sample->life == 0 ? sample->bytes : size_code_bytes(load_plain(size_code_at(p)))
             : arena_tag(p) == TAG_LARGE ? owned_load(&arena.runs[arena_unit(p)].large_bytes)
                                         : 0;
    return *bytes != 0;
}

/* Kept pages. */

struct page {
    uint32_t bytes, objects, live_bytes;
};

static bool page_is_sparse(const struct page *page)
{
    invariant(page->live_bytes <= page->bytes);
    return page->objects != 0 && page->live_bytes <= page->bytes / 2;
}

/* The page of a slab from this offset on. */
static struct page page_at(uint32_t first, unsigned class, size_t from)
{
    const struct class_geometry *const geometry = &class_geometry[class];
    const size_t size = geometry->size;
    invariant(from % os_page_bytes() == 0 && from < (size_t)geometry->units << UNIT_SHIFT);
    struct page page = { .bytes = (uint32_t)min_size(os_page_bytes(), ((size_t)geometry->units << UNIT_SHIFT) - from) };
    const size_t to = from + page.bytes, end = min_size((to + size - 1) / size, geometry->slots);
    for (size_t slot = from / size; slot < end; slot++) {
        if ((load_plain(&arena.runs[first].bitmap[slot / WORD_SLOTS]) >> slot % WORD_SLOTS & 1) == 0) {
            page.objects++;
            page.live_bytes += (uint32_t)(min_size(to, (slot + 1) * size) - max_size(from, slot * size));
        }
    }
    return page;
}

/* The pages of a chunk. A last one stands for its codes and descriptors, which go back when no object lives in it. */
enum {
    CHUNK_PAGES = CHUNK_BYTES / 4096,
    SIDE_PAGE = CHUNK_PAGES,
    PAGES_OF_CHUNK,
};

static size_t chunk_page_bytes(void)
{
    return min_size(os_page_bytes(), CHUNK_BYTES);
}

/* Adds an object of a chunk to the pages that it lies on. */
static void add_object(struct page *pages, size_t from, size_t to)
{
    const size_t bytes = chunk_page_bytes();
    invariant(from < to);
    pages[SIDE_PAGE].objects++;
    pages[SIDE_PAGE].live_bytes += (uint32_t)((to - from) >> GRANULE_SHIFT);
    for (size_t at = round_down(from, bytes); at < to && at < CHUNK_BYTES; at += bytes) {
        struct page *const page = &pages[at / bytes];
        page->objects++;
        page->live_bytes += (uint32_t)(min_size(to, at + bytes) - max_size(from, at));
    }
}

/* While a thread fills the chunk, its pages have no objects. */
static void pages_of_chunk(uint32_t first, struct page *pages)
{
    uint32_t granules;
    invariant(CHUNK_BYTES / chunk_page_bytes() <= CHUNK_PAGES);
    for (size_t i = 0; i < PAGES_OF_CHUNK; i++) {
        pages[i] = (struct page){ .bytes = (uint32_t)chunk_page_bytes() };
    }
    pages[SIDE_PAGE].bytes = CHUNK_UNITS * sizeof(struct run) + (chunk_has_table(first) ? CHUNK_GRANULES : 0);
    if (load_plain(&arena.runs[first].live) > CHUNK_GRANULES) {
        return;
    }
    for (uint32_t at = 0; (at = chunk_next(first, at, &granules)) < CHUNK_GRANULES; at += granules) {
        add_object(pages, (size_t)at << GRANULE_SHIFT, (size_t)(at + granules) << GRANULE_SHIFT);
    }
    for (size_t i = 0; i < PAGES_OF_CHUNK; i++) { /* it may be another run by now */
        pages[i].live_bytes = (uint32_t)min_size(pages[i].live_bytes, pages[i].bytes);
    }
}

/* Adds a sparse page, or, where `sharers` objects lie on it, the part of one of them. */
static void keep_page(struct kept *kept, const struct page *page, uint32_t sharers)
{
    if (page_is_sparse(page)) {
        invariant(page->live_bytes < page->bytes && sharers != 0);
        kept->pages += page->bytes / sharers;
        kept->wasted += (page->bytes - page->live_bytes) / sharers;
    }
}

void profile_kept(struct kept *by_class)
{
    memset(by_class, 0, CLASS_LIMIT * sizeof *by_class);
    for (struct census_run run = { .first = 0 }; census_next(&run);) {
        struct page pages[PAGES_OF_CHUNK] = { { .bytes = 0 } };
        if (run.kind == CENSUS_CHUNK) {
            pages_of_chunk(run.first, pages);
            for (size_t i = 0; i < PAGES_OF_CHUNK; i++) {
                keep_page(&by_class[CLASS_NONE], &pages[i], 1);
            }
        }
        for (size_t at = 0; run.kind == CENSUS_SLAB && at < (size_t)run.units << UNIT_SHIFT; at += os_page_bytes()) {
            const struct page page = page_at(run.first, run.class, at);
            keep_page(&by_class[run.class], &page, 1);
        }
    }
}

struct kept profile_kept_by(const struct sample *sample)
{
    struct kept kept = { .pages = 0 };
    if (sample->run == 0) {
        return kept;
    }
    const size_t from = (size_t)((const char *)sample->address - arena_address(sample->run));
    invariant(from < (size_t)64 << UNIT_SHIFT);
    if (sample->class == CLASS_NONE) {
        struct page pages[PAGES_OF_CHUNK] = { { .bytes = 0 } };
        const size_t bytes = chunk_page_bytes();
        const size_t to = from + size_code_bytes(load_plain(size_code_at((const char *)sample->address)));
        pages_of_chunk(sample->run, pages);
        for (size_t at = round_down(from, bytes); at < to && at < CHUNK_BYTES; at += bytes) {
            keep_page(&kept, &pages[at / bytes], pages[at / bytes].objects);
        }
        keep_page(&kept, &pages[SIDE_PAGE], pages[SIDE_PAGE].objects);
        return kept;
    }
    for (size_t at = round_down(from, os_page_bytes()); at < from + class_geometry[sample->class].size;
         at += os_page_bytes()) {
        const struct page page = page_at(sample->run, sample->class, at);
        keep_page(&kept, &page, page.objects);
    }
    return kept;
}

/* The heap profile as text: lines of words and numbers, each in one form. The stacks come first, then the objects that
 * live, and at last the mappings, so that a program can tell addresses apart after the process has ended. In a part of
 * a profile, a stack comes before each object. */

enum { FORM_VERSION = 1 };

static void print_numbers(struct text *text, const char *word, const uint64_t *numbers, unsigned count)
{
    text_string(text, word);
    for (unsigned i = 0; i < count; i++) {
        text_string(text, " ");
        text_number(text, numbers[i]);
    }
}

static void print_word(struct text *text, const char *word, uint64_t number)
{
    print_numbers(text, word, &number, 1);
    text_string(text, "\n");
}

/* How many objects a weight is, rounded. */
static uint64_t rounded(uint64_t weight)
{
    return (weight + WEIGHT_ONE / 2) >> WEIGHT_SHIFT;
}

static noinline void print_head(struct text *text, int fd)
{
    print_word(text, "tslab-profile", FORM_VERSION);
    text_string(text, "program ");
    text_foreign(text, os_program_name());
    text_string(text, "\n");
    print_word(text, "process", os_process_id());
    print_word(text, "period", load_plain(&samples.period));
    print_word(text, "sampling", load_plain(&samples.is_on));
    print_word(text, "page", os_page_bytes());
    print_word(text, "time", os_now_ms());
    print_word(text, "lost", counter_get(&samples.lost));
    print_word(text, "stackless", counter_get(&samples.stackless));
    text_send_part(text, fd);
}

static void print_stack(struct thread *thread, struct text *text, int fd, uint32_t number)
{
    struct stack_sums sums;
    gate_lock(&thread->gate);
    const struct stack *const stack = samples_stack(number, &sums);
    gate_unlock(&thread->gate);
    const uint64_t numbers[] = { number, rounded(sums.objects), sums.bytes, rounded(sums.peak_objects),
                                 sums.peak_bytes };
    print_numbers(text, "stack", numbers, sizeof numbers / sizeof numbers[0]);
    for (uint32_t i = 0; i < stack->depth; i++) {
        text_string(text, " ");
        text_hex(text, stack->frames[i]);
        text_send_part(text, fd);
    }
    text_string(text, "\n");
    text_send_part(text, fd);
}

static noinline void print_stacks(struct thread *thread, struct text *text, int fd)
{
    const uint32_t last = load_acquire(&samples.stacks);
    gate_lock(&thread->gate);
    samples_note_peak();
    gate_unlock(&thread->gate);
    for (uint32_t number = 1; number <= last; number++) {
        print_stack(thread, text, fd, number);
    }
}

/* Each object counts for `step`, with its stack; 0: all objects are told, and what they keep. */
static noinline void print_live(struct thread *thread, struct text *text, int fd, uint32_t step)
{
    const uint32_t last = load_acquire(&samples.highest), every = step == 0 ? 1 : step;
    const uint64_t now_ms = os_now_ms();
    invariant(every != 0);
    for (uint32_t number = every; number <= last; number += every) {
        struct sample sample;
        uint64_t bytes;
        gate_lock(&thread->gate);
        const bool lives = profile_live(number, &sample, &bytes);
        gate_unlock(&thread->gate);
        if (lives) {
            const struct kept kept = step == 0 ? profile_kept_by(&sample) : (struct kept){ .pages = 0 };
            if (step != 0 && sample.stack != 0) {
                print_stack(thread, text, fd, sample.stack);
            }
            invariant(kept.wasted <= kept.pages);
            const uint64_t numbers[] = { sample.stack,
                                         rounded(sample.weight * 1000) * every,
                                         bytes,
                                         class_geometry[sample.class].size,
                                         sample.epoch,
                                         sample.thread,
                                         now_ms - min_size(now_ms, sample.born_ms),
                                         kept.pages,
                                         kept.wasted };
            print_numbers(text, "live", numbers, sizeof numbers / sizeof numbers[0]);
            text_string(text, sample.run != 0 && sample.life != 0 ? " chunk\n"
                              : sample.run != 0                   ? " slot\n"
                                                                  : " large\n");
            text_send_part(text, fd);
        }
    }
}

static noinline void print_kept(struct text *text, int fd)
{
    struct kept kept[CLASS_LIMIT];
    profile_kept(kept);
    for (unsigned c = 0; c < CLASS_LIMIT; c++) {
        if (kept[c].pages != 0) {
            const uint64_t numbers[] = { class_geometry[c].size, kept[c].pages, kept[c].wasted };
            print_numbers(text, "kept", numbers, sizeof numbers / sizeof numbers[0]);
            text_string(text, "\n");
            text_send_part(text, fd);
        }
    }
}

static noinline void print_names(struct text *text, int fd)
{
    static const char *const states[] = { "open", "closing", "draining" };
    struct tslab_epoch_stats entry;
    for (uint32_t from = 0; epochs_describe(&from, &entry);) {
        if (entry.epoch.id == epoch_value(&epoch_process)) {
            continue;
        }
        const uint64_t numbers[] = { entry.epoch.id, entry.live_objects, entry.live_bytes, entry.memory_bytes,
                                     entry.age_ms };
        invariant((unsigned)entry.state < sizeof states / sizeof states[0]);
        print_numbers(text, "epoch", numbers, sizeof numbers / sizeof numbers[0]);
        text_string(text, " ");
        text_string(text, states[entry.state]);
        text_string(text, " ");
        text_foreign(text, entry.label);
        text_string(text, "\n");
        text_send_part(text, fd);
    }
    for (const struct thread *thread = load_acquire(&registry.made); thread != NULL; thread = thread->made_before) {
        const uint32_t number = load_plain(&thread->number);
        char name[OS_NAME_BYTES];
        if (number != 0) {
            print_numbers(text, "thread", &(uint64_t){ number }, 1);
            text_string(text, " ");
            text_foreign(text, os_thread_name(number, name));
            text_string(text, "\n");
            text_send_part(text, fd);
        }
    }
}

static bool profile_print(int fd, uint32_t step)
{
    char buffer[REPORT_BYTES];
    struct text text = { .buffer = buffer, .capacity = sizeof buffer };
    struct thread *const thread = current_thread_get();
    print_head(&text, fd);
    if (thread != NULL) {
        if (step == 0) {
            print_stacks(thread, &text, fd);
        }
        print_live(thread, &text, fd, step);
        current_thread_put(thread);
    }
    if (step == 0) {
        print_kept(&text, fd);
        print_names(&text, fd);
    }
    text_string(&text, "maps\n");
    text_send(&text, fd);
    return !text.lost && os_copy_file("/proc/self/maps", fd, step == 0 ? UINT64_MAX : PROFILE_PART_MAPS);
}

void profile_save(uint32_t number)
{
    const char *const path = option_path(OPTION_PROFILE);
    const int fd = path[0] == 0 || !samples_are_on() ? -1 : sink_open_file(SINK_PROFILE, path, number);
    if (fd >= 0) {
        (void)profile_print(fd, 0);
        sink_close(fd);
    }
}

void profile_save_part(int fd)
{
    invariant(fd >= 0);
    if (samples_are_on()) {
        (void)profile_print(fd, load_acquire(&samples.highest) / PROFILE_PART_MOST + 1);
    }
}

TSLAB_API enum tslab_status tslab_profile_write(int fd)
{
    if (fd < 0) {
        return TSLAB_INVALID;
    }
    return profile_print(fd, 0) ? TSLAB_OK : TSLAB_INVALID;
}
