/* The file is made with all its room, so that no write into its mapping can fail later. A file that is there already is
 * another process's, perhaps the parent's: its number follows the name. */
#include "common/timeline.h"

#include "common/option.h"
#include "common/record_ring.h"
#include "os/fatal.h"
#include "os/os.h"
#include "os/sink.h"
#include "os/text.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum {
    FILES_MOST = 10, /* files of one name */
    SAMPLE_MS = 10,
    LABEL_WORDS = RING_WORDS - 1,
    PART_SHIFT = 8,
    THREAD_SHIFT = 32,
};

struct timeline timeline;

/* Complete before the state is TIMELINE_ON. */
static struct ring timeline_ring;

/* The system's number of this thread; 0: not asked for yet. */
static per_thread uint32_t own_number;

static void fill_header(struct ring_header *header)
{
    header->process = os_process_id();
    header->started_ns = os_now_ns();
    header->started_real_ns = os_real_ns();
    memcpy(header->program, os_program_name(), strnlen(os_program_name(), sizeof header->program - 1));
    strncpy(header->names, timeline.names, sizeof header->names - 1);
    invariant(header->program[sizeof header->program - 1] == 0 && header->names[sizeof header->names - 1] == 0);
}

/* Makes the file and begins the ring in it. Returns 0, or the number of an error. */
static int open_file(void)
{
    char path[SINK_PATH_BYTES];
    const size_t bytes = option_get(OPTION_TRACE);
    int why = ENAMETOOLONG;
    invariant(option_path(OPTION_TRACE)[0] != 0 && bytes > RING_HEADER_BYTES);
    for (unsigned i = 0; i < FILES_MOST; i++) {
        if (!sink_path(path, option_path(OPTION_TRACE), i)) {
            return ENAMETOOLONG;
        }
        const size_t length = strlen(path);
        if (i != 0 && length + 3 <= sizeof path) {
            path[length] = '.';
            path[length + 1] = (char)('0' + i);
            path[length + 2] = 0;
        }
        void *const start = os_new_shared_file(path, bytes, &why);
        invariant((start == NULL) == (why != 0));
        if (start != NULL) {
            ring_begin(&timeline_ring, start, bytes);
            fill_header(timeline_ring.header);
            return 0;
        }
        if (why != EEXIST) {
            break;
        }
    }
    return why;
}

static void complain(int why)
{
    char buffer[SINK_PATH_BYTES + 128];
    struct text line = { .buffer = buffer, .capacity = sizeof buffer - 1 };
    text_string(&line, "tslab: no timeline in ");
    text_foreign(&line, option_path(OPTION_TRACE));
    text_string(&line, ": ");
    text_string(&line, why == EEXIST ? "there are 10 files of this name already" : os_why(why));
    invariant(line.length < sizeof buffer);
    buffer[line.length++] = '\n';
    (void)os_write(STDERR_FILENO, buffer, line.length);
}

/* In the child of a fork, which has one thread. The mapping is the parent's. */
static void begin_anew(void)
{
    own_number = 0;
    if (load_plain(&timeline.state) != TIMELINE_OFF) {
        invariant(timeline.sample != NULL);
        store_plain(&timeline.state, TIMELINE_TO_OPEN);
    }
}

void timeline_start(void (*sample)(void), const char *names)
{
    invariant(timeline.sample == NULL && sample != NULL && strlen(names) < RING_NAMES_BYTES);
    timeline.sample = sample;
    timeline.names = names;
    if (option_path(OPTION_TRACE)[0] != 0) {
        (void)timeline_begin_now();
    }
}

bool timeline_begin_now(void)
{
    static bool watches_forks; /* written by who opens */
    uint32_t state = TIMELINE_OFF;
    if (timeline.sample == NULL || !cas_acquire(&timeline.state, &state, TIMELINE_OPENING)) {
        return timeline.sample != NULL; /* it is on, or about to be */
    }
    invariant(option_path(OPTION_TRACE)[0] != 0);
    watches_forks = watches_forks || os_watch_forks(begin_anew);
    const int why = watches_forks ? open_file() : ENOMEM;
    if (why != 0) {
        complain(why);
    }
    store_release(&timeline.state, why == 0 ? TIMELINE_ON : TIMELINE_OFF);
    return why == 0;
}

/* The child of a fork opens its file, by the first thread that has something to note. What others have to note
 * meanwhile is not. False: there is no timeline, or not yet. */
static noinline bool open_in_child(void)
{
    uint32_t state = TIMELINE_TO_OPEN;
    if (cas_acquire(&timeline.state, &state, TIMELINE_OPENING)) {
        state = open_file() == 0 ? TIMELINE_ON : TIMELINE_OFF;
        store_release(&timeline.state, state);
    }
    invariant(state <= TIMELINE_OPENING);
    return state == TIMELINE_ON;
}

noinline void timeline_note(enum timeline_kind kind, uint32_t part, uint64_t when_ns, const uint64_t *words,
                            unsigned count)
{
    uint64_t word[RING_WORDS] = { 0 };
    invariant(kind != TIMELINE_NONE && count <= RING_WORDS && part < 1u << (THREAD_SHIFT - PART_SHIFT));
    if (load_acquire(&timeline.state) != TIMELINE_ON && !open_in_child()) {
        return;
    }
    if (unlikely(own_number == 0)) {
        own_number = os_thread_id();
    }
    invariant(own_number != 0);
    memcpy(word, words, count * sizeof *words);
    (void)ring_write(&timeline_ring, when_ns,
                     (uint64_t)own_number << THREAD_SHIFT | (uint64_t)part << PART_SHIFT | (uint64_t)kind, word);
}

noinline void timeline_note_epoch(enum timeline_kind kind, uint64_t value, const char *label)
{
    uint64_t words[1 + LABEL_WORDS] = { value };
    invariant(kind >= TIMELINE_EPOCH_OPEN && kind <= TIMELINE_EPOCH_END);
    if (label != NULL) {
        strncpy((char *)&words[1], label, LABEL_WORDS * sizeof words[0] - 1);
    }
    timeline_note(kind, 0, os_now_ns(), words, RING_WORDS);
}

noinline void timeline_note_purge(uint64_t begun_ns, const void *start, size_t bytes, bool granted)
{
    const uint64_t now_ns = os_now_ns();
    invariant(begun_ns != 0 && bytes != 0);
    const uint64_t words[] = { now_ns > begun_ns ? now_ns - begun_ns : 0, (uintptr_t)start, bytes, granted };
    timeline_note(TIMELINE_PURGE, 0, begun_ns, words, sizeof words / sizeof words[0]);
}

/* A program that is at its limit may try again and again. */
noinline void timeline_note_limit(enum limit_kind kind, uint64_t used_bytes, uint64_t wanted_bytes, uint64_t epoch)
{
    static atomic_u64 noted_ms[LIMIT_KINDS];
    const uint64_t now_ms = os_now_ms();
    invariant(kind < LIMIT_KINDS);
    if (load_plain(&noted_ms[kind]) != now_ms) {
        const uint64_t words[] = { kind, used_bytes, wanted_bytes, epoch };
        store_plain(&noted_ms[kind], now_ms);
        timeline_note(TIMELINE_LIMIT, 0, os_now_ns(), words, sizeof words / sizeof words[0]);
    }
}

noinline void timeline_note_if_long(uint64_t begun_ns, enum timeline_operation operation, size_t bytes)
{
    const uint64_t now_ns = os_now_ns();
    invariant(operation != TIMELINE_NO_OPERATION && begun_ns != 0);
    if (now_ns > begun_ns && now_ns - begun_ns >= TIMELINE_LONG_NS) {
        const uint64_t words[] = { now_ns - begun_ns, operation, bytes };
        timeline_note(TIMELINE_LONG, 0, begun_ns, words, sizeof words / sizeof words[0]);
    }
}

noinline void timeline_sample(void)
{
    const uint64_t now_ms = os_now_ms();
    uint64_t sampled_ms = load_plain(&timeline.sampled_ms);
    invariant(timeline.sample != NULL);
    if (now_ms - sampled_ms >= SAMPLE_MS && cas_acquire(&timeline.sampled_ms, &sampled_ms, now_ms)) {
        uint64_t name[2];
        os_own_name((char *)name);
        timeline_note(TIMELINE_NAME, 0, os_now_ns(), name, 2);
        if (load_acquire(&timeline.state) == TIMELINE_ON) { /* the child of a fork may have got no file */
            timeline.sample();
        }
    }
}
