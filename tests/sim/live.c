#include "live.h"

#include "common/option.h"
#include "common/trace.h"
#include "malloc/fast.h"
#include "memory.h"
#include "os/os.h"
#include "report/inbox.h"
#include "report/live_view.h"
#include "report/profile.h"
#include "report/report_timer.h"
#include "scheduler.h"
#include "system.h"
#include "world.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>

enum { SEED = 1, READ_BYTES = 1024, FEW_POSTINGS = 2, INBOX_KEPT_MS = 4 };
#define PERIOD_ALL  1
#define PERIOD_SOME 16384
#define PERIOD_NONE (UINT64_C(1) << 50)

static struct live_ledger *ledger(void)
{
    return &world.live;
}

/* One thread at a time writes or posts. */

static void begin_alone(void)
{
    if (ledger()->busy++ != 0) {
        sim_fail("two threads report at once");
    }
    memory_use(&ledger()->report_ms, sizeof ledger()->report_ms);
    sim_point();
}

static void end_alone(void)
{
    sim_point();
    ledger()->busy--;
}

/* Reports. */

static void write_report(void)
{
    const uint64_t interval_ms = option_number_of(option_get(OPTION_STATS));
    const uint64_t now_ms = os_now_ms();
    const bool is_due = interval_ms != 0 && now_ms - ledger()->report_ms >= interval_ms;
    if (ledger()->answered == ledger()->asked && !is_due) {
        sim_fail("a report that nobody has asked for");
    }
    ledger()->answered = ledger()->asked;
    ledger()->report_ms = now_ms;
    begin_alone();
    end_alone();
}

static void make_ready(void)
{
    if (!ledger()->reports) {
        memset(&due, 0, sizeof due);
        memset(&trace, 0, sizeof trace); /* what the library's own constructor has done */
        option_values[OPTION_STATS_SIGNAL] = SIGUSR2;
        report_timer_start(write_report);
        ledger()->reports = true;
        ledger()->report_ms = os_now_ms();
    }
}

static void come_by_as_keeper(void)
{
    struct front *const front = front_current;
    front_current = &front_none;
    trace_from_keeper();
    front_current = front;
}

/* The board. */

static uint32_t sum_of(const void *start, size_t bytes)
{
    const unsigned char *const at = start;
    uint32_t sum = 2166136261;
    for (size_t i = 0; i < bytes; i++) {
        sum = (sum ^ at[i]) * 16777619;
    }
    return sum;
}

/* That of zlib. */
static uint32_t crc_of(const unsigned char *at, size_t bytes)
{
    uint32_t sum = ~(uint32_t)0;
    for (size_t i = 0; i < bytes; i++) {
        sum ^= at[i];
        for (int bit = 0; bit < 8; bit++) {
            sum = (sum >> 1) ^ (0xedb88320 & (0 - (sum & 1)));
        }
    }
    return ~sum;
}

/* The newest copy of a board whose checksum is right; NULL: there is none. */
static const struct board_copy *newest_copy(const char *start)
{
    const struct board_head *const head = (const struct board_head *)(const void *)start;
    const struct board_copy *newest = NULL;
    for (uint32_t i = 0; i < head->copies; i++) {
        const struct board_copy *const copy =
            (const struct board_copy *)(const void *)(start + head->head_bytes + (size_t)i * head->copy_bytes);
        const bool is_sound = copy->used_bytes > sizeof *copy && copy->used_bytes <= head->copy_bytes &&
                              copy->checksum == crc_of((const unsigned char *)copy + sizeof copy->checksum,
                                                       copy->used_bytes - sizeof copy->checksum);
        newest = is_sound && (newest == NULL || copy->number > newest->number) ? copy : newest;
    }
    return newest;
}

static uint64_t post(bool at_once)
{
    ledger()->posting++;
    begin_alone();
    const uint64_t pause_ms = board_post(at_once);
    const struct board_copy *const copy = newest_copy(system_board());
    if (copy == NULL || copy->number < ledger()->posted || copy->number >= POSTED_MAX) {
        sim_fail("a posting left nothing");
    }
    ledger()->posted = copy->number;
    ledger()->sums[copy->number] = sum_of(copy, copy->used_bytes);
    end_alone();
    return pause_ms;
}

/* Another process reads piece by piece. */
static void read_board(void)
{
    static _Alignas(uint64_t) char seen[THREADS_MAX][BOARD_BYTES];
    char *const copy_of_board = seen[sim_self()];
    const uint64_t posted = ledger()->posted;
    const unsigned posting = ledger()->posting;
    const unsigned busy = ledger()->busy;
    for (size_t at = 0; at < BOARD_BYTES; at += READ_BYTES) {
        memcpy(copy_of_board + at, system_board() + at, READ_BYTES);
        sim_point();
    }
    const struct board_head *const head = (const struct board_head *)(const void *)copy_of_board;
    if (atomic_load_explicit(&head->magic, memory_order_relaxed) != BOARD_MAGIC) {
        if (posted != 0) {
            sim_fail("a board that was posted has no head");
        }
        return;
    }
    const struct board_copy *const copy = newest_copy(copy_of_board);
    if (copy == NULL) {
        if (posted != 0 && ledger()->posting - posting + (busy != 0) < FEW_POSTINGS) {
            sim_fail("a reader finds no whole copy");
        }
    } else if (copy->number < posted) {
        if (ledger()->posting - posting + (busy != 0) < FEW_POSTINGS) {
            sim_fail("a reader finds an old copy");
        }
    } else if (copy->number > ledger()->posted || ledger()->sums[copy->number] != sum_of(copy, copy->used_bytes)) {
        sim_fail("a reader takes a mixture");
    }
}

/* The inbox. */

static void (*really_do)(void);

static void do_alone(void)
{
    begin_alone();
    really_do();
    end_alone();
}

static uint64_t keep_inbox(bool at_once)
{
    (void)at_once;
    begin_alone();
    inbox_keep();
    end_alone();
    return INBOX_KEPT_MS;
}

static void have_inbox(void)
{
    make_ready();
    ledger()->has_inbox = true;
    report_timer_post(keep_inbox);
    really_do = due.do_wanted;
    due.do_wanted = do_alone;
}

/* Another process asks for something step by step, and does not wait for the answer. It asks nothing while its request
 * before waits, or where the process has no inbox of its own. */
static void ask(int number)
{
    struct inbox_page *const page = (struct inbox_page *)(void *)system_inbox();
    const uint32_t asked = atomic_load_explicit(&page->asked, memory_order_relaxed);
    if (atomic_load_explicit(&page->magic, memory_order_acquire) != INBOX_MAGIC ||
        atomic_load_explicit(&page->answered, memory_order_acquire) != asked || ledger()->asks) {
        return;
    }
    ledger()->asks = true; /* the lock */
    ledger()->requests++;
    ledger()->wanted = (unsigned)number;
    char request[] = "7 0 retain_bytes=0";
    request[sizeof request - 2] = (char)('0' + number);
    memset(page->request, 'x', sizeof request); /* a mixture would be no request */
    sim_point();
    memcpy(page->request, request, sizeof request);
    sim_point();
    atomic_store_explicit(&page->asked, asked + 1, memory_order_release);
    ledger()->asks = false;
}

static const char *check_inbox(void)
{
    static const char done[] = "done: retain_bytes=";
    const struct inbox_page *const page = (const struct inbox_page *)(const void *)system_inbox();
    come_by_as_keeper();
    if (page->pid != 1 + simulated.process) {
        return "the inbox is another process's";
    }
    if (simulated.obeyed != ledger()->requests || page->asked != page->answered) {
        return "a request was not done, or twice";
    }
    const bool is_right = option_get(OPTION_RETAIN_BYTES) == ledger()->wanted;
    return ledger()->requests == 0 || (is_right && memcmp(page->answer, done, sizeof done - 1) == 0)
               ? NULL
               : "a request has another's answer";
}

/* Samples. The stack of a sample is the number of the operation that allocated. */

static int worker(void)
{
    return sim_is_running() ? sim_self() : BUILDER;
}

size_t wrap_stack_read(uintptr_t frames[STACK_FRAMES]) __asm__("__wrap_stack_read");

size_t wrap_stack_read(uintptr_t frames[STACK_FRAMES])
{
    frames[0] = ledger()->serial_of[worker()];
    return 1;
}

void live_take_off(struct flight *flight)
{
    flight->serial = ledger()->serial_of[worker()] = ++ledger()->serial;
    ledger()->births += flight->frees == NULL;
    flight->sampling = ledger()->sampling;
    flight->switches = ledger()->switches;
}

void live_born(struct object *object, const struct flight *flight)
{
    const bool is_known = flight->switches == ledger()->switches;
    /* A chunk that is filled goes on by what was drawn when it was begun. Without a life, nothing was. */
    const bool is_in_chunk = object->tag == TAG_CHUNK, is_old = is_in_chunk && ledger()->switches > 2;
    const bool is_blind = flight->sampling == SAMPLING_BLIND;
    object->serial = flight->serial;
    object->sampling = is_blind || (is_known && !is_old) ? flight->sampling : SAMPLING_UNKNOWN;
    if (is_in_chunk && arena.runs[arena.units[arena_unit(object->address)].first].life == 0) {
        object->sampling = SAMPLING_NONE;
    }
}

static void set_sampling(int number)
{
    const unsigned switches = ++ledger()->switches;
    ledger()->sampling = SAMPLING_UNKNOWN;
    ledger()->switching++;
    for (struct object *o = world.objects; number == 0 && o < world_objects_end(); o++) {
        o->sampling = SAMPLING_UNKNOWN;
    }
    if (load_plain(&samples.seed) == 0) {
        store_plain(&samples.seed, SEED);
    }
    static const uint64_t periods[] = { 0, PERIOD_ALL, PERIOD_NONE, PERIOD_SOME };
    if (!profile_set(periods[number])) {
        sim_fail("no memory for samples");
    }
    if (--ledger()->switching == 0 && ledger()->switches == switches) {
        ledger()->sampling = number == 1 ? SAMPLING_ALL : number == 3 ? SAMPLING_UNKNOWN : SAMPLING_NONE;
    }
    ledger()->switches++;
}

/* Whether the sample that operation `serial` made at an address may be one of an object; serial 0: it is not known. */
static bool is_of(const struct object *object, uint64_t address, uintptr_t serial)
{
    return object->address != NULL && (uintptr_t)object->address == address &&
           (serial == 0 || object->serial == serial || object->sampling == SAMPLING_BLIND);
}

/* Whether any object is that one. Two are in one place where another thread's free is under way. */
static bool is_any(const struct object *objects, uint64_t address, uintptr_t serial)
{
    bool is = false;
    for (unsigned i = 0; i < world.object_places; i++) {
        is |= is_of(&objects[i], address, serial);
    }
    return is;
}

/* Whether a place may be on its way to a user. */
static bool anyone_allocates(void)
{
    bool allocates = false;
    for (const struct flight *f = world.flights; f <= world.flights + BUILDER; f++) {
        allocates |= f->on && f->allocates;
    }
    return allocates;
}

static bool is_said_to_live(uint32_t number, struct sample *sample)
{
    uint64_t bytes;
    struct thread *const thread = current_thread_get();
    gate_lock(&thread->gate);
    const bool lives = profile_live(number, sample, &bytes);
    gate_unlock(&thread->gate);
    current_thread_put(thread);
    return lives;
}

/* What is said to live does, or did when the look began; and all that was sampled and lives is said to. */
static void look_at_samples(void)
{
    struct object before[OBJECTS_MAX];
    bool told[OBJECTS_MAX] = { false };
    const unsigned count = world.object_places;
    const unsigned births = ledger()->births;
    memcpy(before, world.objects, sizeof before);
    bool is_calm = !anyone_allocates();
    if (!samples_were_on()) {
        return;
    }
    for (uint32_t number = 1; number <= counter_get(&samples.highest); number++) {
        struct sample sample;
        if (!is_said_to_live(number, &sample)) {
            continue;
        }
        const uintptr_t of = sample.stack == 0 ? 0 : samples_stack(sample.stack)->frames[0];
        is_calm = is_calm && ledger()->births == births;
        if (is_calm && !is_any(before, sample.address, of) && !is_any(world.objects, sample.address, of)) {
            sim_fail("sample %u of %zx (%zu bytes, of %zx, run %u) is said to live, and is gone", number,
                     (size_t)sample.address, (size_t)sample.bytes, (size_t)of, sample.run);
        }
        for (unsigned i = 0; i < count; i++) {
            told[i] |= is_of(&before[i], sample.address, of);
        }
    }
    for (unsigned i = 0; i < count && counter_get(&samples.lost) == 0; i++) {
        const struct object *const now = &world.objects[i];
        const bool stays = before[i].address != NULL && now->address == before[i].address &&
                           now->serial == before[i].serial && !now->leaves && now->handle == 0;
        if (stays && !told[i] && before[i].sampling == SAMPLING_ALL && now->sampling == SAMPLING_ALL) {
            sim_fail("a sampled object lives, and is not told");
        }
        if (stays && told[i] && before[i].sampling == SAMPLING_NONE && now->sampling == SAMPLING_NONE) {
            sim_fail("an object is told that was not to be sampled");
        }
    }
}

static const char *check_records(void)
{
    uint32_t used = 0;
    for (uint32_t number = 1; number <= counter_get(&samples.highest); number++) {
        struct sample sample;
        if (samples_copy(number, &sample)) { /* no other thread runs, so no gate is needed */
            used++;
            if (samples_find(sample.address) != number) {
                return "an object has two records, or none that is found";
            }
            /* A child may have the record of an object that a cut thread was about to get. */
            const uintptr_t of = sample.stack == 0 ? 0 : samples_stack(sample.stack)->frames[0];
            if (sample.life == 0 && simulated.process == 0 && !is_any(world.objects, sample.address, of)) {
                return "a record outlives its object";
            }
        }
    }
    if (used != counter_get(&samples.live)) {
        return "records are counted wrongly";
    }
    return used != 0 && load_plain(&samples.is_on) == 0 ? "nothing is sampled, and records are left" : NULL;
}

bool live_operate(int actor, char what, int number)
{
    (void)actor;
    switch (what) {
    case '%':
        make_ready();
        ledger()->asked++;
        system_signal(SIGUSR2);
        return true;
    case '#':
        make_ready();
        trace_after_slow();
        return true;
    case ';':
        come_by_as_keeper();
        return true;
    case ':':
        simulated.now_ms += (uint64_t)number;
        return true;
    case '^':
        make_ready();
        option_values[OPTION_STATS] = (uint64_t)number << CHOICE_SHIFT;
        report_timer_arm();
        return true;
    case '*':
        make_ready();
        ledger()->posts = true;
        report_timer_post(post);
        return true;
    case '&':
        read_board();
        return true;
    case ']':
        have_inbox();
        return true;
    case '{':
        ask(number);
        return true;
    case '[':
        set_sampling(number);
        return true;
    case '|':
        look_at_samples();
        return true;
    default:
        return false;
    }
}

void live_forked(void)
{
    ledger()->busy = 0;
    ledger()->posted = 0;
    ledger()->left_behind = ledger()->posts       ? sum_of(system_board(), BOARD_BYTES)
                            : ledger()->has_inbox ? sum_of(system_inbox(), INBOX_ROOM)
                                                  : 0;
    ledger()->requests = 0;
    ledger()->asks = false;
    simulated.obeyed = 0;
    simulated.process++;
}

/* A slow operation comes by: nothing is left to be done then. */
static const char *check_reports(void)
{
    fast_free(fast_alloc((size_t)2 << UNIT_SHIFT));
    if (ledger()->answered != ledger()->asked) {
        return "a report was asked for and is not written";
    }
    return load_plain(&due.is_writing) == 0 ? NULL : "a claim to write is left";
}

const char *live_rest(void)
{
    const char *wrong = ledger()->reports ? check_reports() : NULL;
    if (wrong == NULL && ledger()->left_behind != 0 && ledger()->posts &&
        sum_of(simulated.board[simulated.process - 1], BOARD_BYTES) != ledger()->left_behind) {
        wrong = "a child has written on its parent's board";
    }
    if (wrong == NULL && ledger()->has_inbox) {
        wrong = check_inbox();
    }
    if (wrong == NULL && ledger()->left_behind != 0 && ledger()->has_inbox &&
        sum_of(simulated.inbox[simulated.process - 1], INBOX_ROOM) != ledger()->left_behind) {
        wrong = "a child has answered for its parent";
    }
    if (wrong == NULL && samples_were_on()) {
        look_at_samples();
        wrong = check_records();
    }
    return wrong;
}

const char *live_gone(void)
{
    if (!samples_were_on()) {
        return NULL;
    }
    look_at_samples();
    return check_records();
}
