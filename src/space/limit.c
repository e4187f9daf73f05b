/* The limits are compared in units, where the footprint is counted. */
#include "space/limit.h"

#include "os/container.h"
#include "os/fatal.h"
#include "os/os.h"
#include "os/text.h"
#include "space/pages.h"

#include <string.h>
#include <unistd.h>

enum {
    CALM_SHIFT = 3, /* it is calm again when so large a part of the soft limit is free */
    /* The container presses when less than the first part of its limit is left, and then until the second is left.
     * Where less than the third is left, it is looked at more often. */
    NEAR_SHIFT = 4,
    FAR_SHIFT = 3,
    CLOSE_SHIFT = 2,
    LIMIT_LOOK_MS = 25,
    ASK_SHIFT = 7, /* of the container's limit: growth that is worth a look at the RSS */
    /* Pressure: begins at 10 % stall time (memory.pressure avg10), ends at 5 %. In 10,000ths. */
    STALLED = 1000,
};

struct limits limits = { .hard_units = SIZE_MAX, .soft_units = SIZE_MAX, .ask_units = SIZE_MAX };

/* The limits that the program has set. Number n is in copy n mod 2, and the other copy is written next, under the lock.
 * A reader takes no lock, because it may be in no gate: a fork would leave the lock taken. It reads again where the
 * number has changed. */
enum { SET_HARD, SET_SOFT, SET_ON_SOFT, SET_CONTEXT, SET_WORDS };

static struct {
    struct lock lock;
    atomic_u64 number;
    atomic_u64 words[2][SET_WORDS];
} limits_set = { .lock = LOCK_INIT(RANK_LIMITS) };

/* The calling thread's last refusal, and when a line was written; 0: never. The threads of the simulation share their
 * thread-local variables, so they note none. */
static per_thread struct limit_refusal last_refusal;
static atomic_u64 told_ms;

enum { TELL_PAUSE_MS = 60000 };

void limit_note_refusal(const struct limit_refusal *refusal)
{
    invariant(refusal->whose != NULL && refusal->count != NULL);
    if (!TSLAB_SIM) {
        last_refusal = *refusal;
    }
}

void limit_forget_refusal(void)
{
    if (!TSLAB_SIM) {
        last_refusal.whose = NULL;
    }
}

bool limit_take_hard_refusal(void)
{
    const bool was_hard = TSLAB_SIM || (last_refusal.whose != NULL && last_refusal.kind == LIMIT_KIND_HARD);
    if (was_hard) {
        limit_forget_refusal();
    }
    return was_hard && load_plain(&limits.hard_units) != SIZE_MAX;
}

/* Whether a line may be written. Of several threads one may. */
static bool may_tell(void)
{
    const uint64_t now_ms = max_size(os_now_ms(), 1);
    uint64_t before_ms = load_plain(&told_ms);
    return (before_ms == 0 || now_ms >= before_ms + TELL_PAUSE_MS) && cas_acquire(&told_ms, &before_ms, now_ms);
}

static noinline void tell_refusal(const struct limit_refusal *what, size_t bytes)
{
    char buffer[384];
    struct text line = { .buffer = buffer, .capacity = sizeof buffer };
    invariant(what->whose != NULL && what->count != NULL);
    text_process(&line);
    text_string(&line, "refused ");
    text_number(&line, bytes);
    text_string(&line, " bytes: the limit of ");
    text_string(&line, what->whose);
    if (what->label[0] != 0) {
        text_string(&line, " '");
        text_foreign(&line, what->label);
        text_string(&line, "'");
    }
    text_string(&line, " is ");
    text_number(&line, what->limit_bytes);
    text_string(&line, ", and it has ");
    text_number(&line, what->used_bytes);
    text_string(&line, " (such a line comes once in a minute)\n");
    invariant(line.length < sizeof buffer);
    text_send(&line, STDERR_FILENO);
}

void limit_no_memory(size_t bytes)
{
    const struct limit_refusal refusal = last_refusal;
    limit_forget_refusal();
    if (refusal.whose != NULL) {
        counter_add_shared(refusal.count, 1);
        if (refusal.of_epoch != NULL) {
            counter_add_shared(refusal.of_epoch, 1);
        }
        store_plain(&limits.reported_use, SIZE_MAX);
        trace_limit(refusal.kind, refusal.used_bytes, refusal.wanted_bytes, refusal.epoch);
        if (may_tell()) {
            tell_refusal(&refusal, bytes);
        }
    }
    trace_limit(LIMIT_KIND_NO_MEMORY, limit_footprint() << UNIT_SHIFT, bytes, 0);
}

static size_t units_of(size_t bytes)
{
    return bytes == 0 ? SIZE_MAX : bytes >> UNIT_SHIFT;
}

void limit_set(const struct tslab_limits *set)
{
    lock_acquire(&limits_set.lock);
    const uint64_t number = load_plain(&limits_set.number) + 1;
    atomic_u64 *const words = limits_set.words[number % 2];
    store_release(&words[SET_HARD], set->hard_bytes);
    store_release(&words[SET_SOFT], set->soft_bytes);
    store_release(&words[SET_ON_SOFT], (uintptr_t)set->on_soft);
    store_release(&words[SET_CONTEXT], (uintptr_t)set->context);
    store_release(&limits_set.number, number);
    store_plain(&limits.hard_units, units_of(set->hard_bytes));
    store_plain(&limits.soft_units, units_of(set->soft_bytes));
    store_plain(&limits.state, LIMIT_CALM);
    lock_release(&limits_set.lock);
    invariant(set->hard_bytes == 0 || load_plain(&limits.hard_units) != SIZE_MAX);
    limit_look();
}

void limit_get(struct tslab_limits *set)
{
    uint64_t number;
    do {
        number = load_acquire(&limits_set.number);
        atomic_u64 *const words = limits_set.words[number % 2];
        set->hard_bytes = load_acquire(&words[SET_HARD]);
        set->soft_bytes = load_acquire(&words[SET_SOFT]);
        const uintptr_t on_soft = load_acquire(&words[SET_ON_SOFT]);
        memcpy(&set->on_soft, &on_soft, sizeof on_soft);
        set->context = (void *)(uintptr_t)load_acquire(&words[SET_CONTEXT]);
    } while (load_relaxed(&limits_set.number) != number);
}

uint64_t limit_option(enum option option)
{
    struct tslab_limits limits_now;
    limit_get(&limits_now);
    invariant(option < OPTION_COUNT);
    return option == OPTION_LIMIT_BYTES        ? limits_now.hard_bytes
           : option == OPTION_SOFT_LIMIT_BYTES ? limits_now.soft_bytes
                                               : option_get(option);
}

/* How the container is watched. By the keeper. */
static enum { WATCH_NOTHING_YET, WATCH_NO_LIMIT, WATCH_SOME, WATCH_CLOSELY } container_watch;

void limit_watch_container(void)
{
    invariant(container_watch <= WATCH_NO_LIMIT);
    if (container_watch == WATCH_NOTHING_YET) {
        container_watch = container_open() ? WATCH_SOME : WATCH_NO_LIMIT;
        if (option_get(OPTION_BLACKBOX) != 0) {
            (void)limit_look_at_container(); /* a program may fill its container before the first nap is over */
        }
    }
}

void limit_look_once(void)
{
    limit_watch_container();
    container_close();
    invariant(container_watch <= WATCH_CLOSELY);
    container_watch = WATCH_NOTHING_YET;
}

/* Has threads ask again when the footprint has grown by what is left before the report, or a little. */
static void ask_later(uint64_t limit_bytes, uint64_t left_bytes)
{
    const uint32_t part = load_plain(&limits.near_part);
    const uint64_t wanted = part == 0 ? 0 : limit_bytes / part;
    const uint64_t more = max_size(left_bytes > wanted ? left_bytes - wanted : 0, limit_bytes >> ASK_SHIFT);
    store_plain(&limits.ask_units, wanted == 0 ? SIZE_MAX : limit_footprint() + (more >> UNIT_SHIFT) + 1);
}

void limit_ask(void)
{
    const uint64_t limit = load_plain(&limits.container_bytes), rss = os_resident_bytes();
    invariant(!lock_is_held(&depot.lock) || os_has_threads());
    const uint64_t before = swap_acquire(&limits.container_rss, rss), left = load_plain(&limits.container_left);
    const uint64_t now_left = rss > before ? left - min_size(rss - before, left) : min_size(left + before - rss, limit);
    store_plain(&limits.container_left, now_left);
    ask_later(limit, now_left);
}

/* Publishes a look for whoever reports. Returns whether to report. */
static bool note_container(const struct container *container)
{
    const uint32_t part = load_plain(&limits.near_part);
    store_plain(&limits.container_rss, os_resident_bytes());
    store_plain(&limits.container_left, container->left_bytes);
    store_plain(&limits.container_bytes, container->limit_bytes);
    ask_later(container->limit_bytes, container->left_bytes);
    return part != 0 && container->left_bytes <= container->limit_bytes / part;
}

bool limit_look_at_container(void)
{
    struct container container = { .limit_bytes = 0 };
    const bool pressed = load_plain(&limits.container_presses) != 0;
    const bool is_limited = container_watch >= WATCH_SOME && container_look(&container);
    const bool presses =
        is_limited && (container.left_bytes <= container.limit_bytes >> (pressed ? FAR_SHIFT : NEAR_SHIFT) ||
                       container.stalled >= (pressed ? STALLED / 2 : STALLED));
    const bool reports = option_get(OPTION_BLACKBOX) != 0;
    if (is_limited) {
        const unsigned shift = reports ? CLOSE_SHIFT - 1 : CLOSE_SHIFT;
        container_watch = container.left_bytes <= container.limit_bytes >> shift ? WATCH_CLOSELY : WATCH_SOME;
    }
    const bool nears = reports && note_container(&container);
    if (presses && !pressed) {
        trace_limit(LIMIT_KIND_CONTAINER, container.limit_bytes - container.left_bytes, 0, 0);
    }
    invariant(!presses || container_watch >= WATCH_SOME);
    store_plain(&limits.container_presses, presses ? 1 : 0);
    return (presses && !pressed) || nears;
}

void limit_nap(bool (*sleeps)(uint32_t most_ms), uint32_t most_ms)
{
    bool goes_on = true;
    for (uint32_t ms; most_ms != 0 && goes_on; most_ms -= ms) {
        ms = container_watch == WATCH_CLOSELY && most_ms > LIMIT_LOOK_MS ? LIMIT_LOOK_MS : most_ms;
        goes_on = sleeps(ms) && !limit_look_at_container();
    }
}

void limit_forget_container(void)
{
    if (container_watch != WATCH_NO_LIMIT) {
        container_watch = WATCH_NOTHING_YET;
    }
    store_plain(&limits.container_presses, 0);
}

static void limit_note(size_t footprint)
{
    const size_t soft = load_plain(&limits.soft_units);
    const uint32_t state = load_plain(&limits.state);
    invariant(state <= LIMIT_TOLD);
    if (state == LIMIT_CALM && footprint > soft) {
        store_plain(&limits.state, LIMIT_RAISED);
        trace_limit(LIMIT_KIND_SOFT, footprint << UNIT_SHIFT, 0, 0);
    } else if (state != LIMIT_CALM && footprint <= soft - (soft >> CALM_SHIFT)) {
        store_plain(&limits.state, LIMIT_CALM);
    }
}

void limit_look(void)
{
    limit_note(limit_footprint());
}

bool limit_has_room(size_t units)
{
    const size_t hard = load_plain(&limits.hard_units);
    invariant(lock_is_held(&depot.lock) && units != 0);
    const bool has_room = hard == SIZE_MAX || limit_footprint() + units <= hard;
    limit_note(limit_footprint() + (has_room ? units : 0));
    return has_room;
}

void limit_count_gone(struct run *run)
{
    const size_t there = pages_there_bytes(run_index(run), run->units);
    const size_t gone = (((size_t)run->units << UNIT_SHIFT) - there) / os_page_bytes();
    invariant(run->kind == RUN_USED && gone <= UINT16_MAX);
    (void)fetch_add_relaxed(&depot_usage.gone_pages, gone - run->gone_pages);
    run->gone_pages = (uint16_t)gone;
}

void limit_forget_gone(struct run *run)
{
    if (unlikely(run->gone_pages != 0)) {
        (void)fetch_sub_relaxed(&depot_usage.gone_pages, run->gone_pages);
        run->gone_pages = 0;
    }
}

bool limit_takes_back(struct run *run)
{
    bool has_room = true;
    if (unlikely(run->gone_pages != 0) && load_plain(&limits.hard_units) != SIZE_MAX) {
        depot_lock();
        has_room = limit_has_room((run->gone_pages * os_page_bytes() + UNIT_BYTES - 1) >> UNIT_SHIFT);
        depot_unlock();
    }
    if (has_room) {
        limit_forget_gone(run);
    }
    return has_room;
}

bool limit_allows(size_t units)
{
    const bool allows = limit_has_room(units);
    if (unlikely(!allows)) {
        limit_note_refusal(&(struct limit_refusal){ .whose = "the process",
                                                    .kind = LIMIT_KIND_HARD,
                                                    .limit_bytes = load_plain(&limits.hard_units) << UNIT_SHIFT,
                                                    .used_bytes = limit_footprint() << UNIT_SHIFT,
                                                    .wanted_bytes = units << UNIT_SHIFT,
                                                    .count = &limits.refusals });
    } else {
        limit_forget_refusal();
    }
    return allows;
}

noinline void limit_tell(void)
{
    uint32_t raised = LIMIT_RAISED;
    if (!cas_acquire(&limits.state, &raised, LIMIT_TOLD)) {
        return;
    }
    struct tslab_limits set;
    limit_get(&set);
    invariant(load_plain(&limits.state) <= LIMIT_TOLD);
    if (set.on_soft != NULL) {
        set.on_soft(limit_footprint() << UNIT_SHIFT, set.soft_bytes, set.context);
    }
}
