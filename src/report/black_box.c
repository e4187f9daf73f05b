/* The one thread that writes notes how near each limit was told to be, and all threads read that. */
#include "report/black_box.h"

#include "audit/accounts.h"
#include "common/option.h"
#include "common/quota.h"
#include "common/trace.h"
#include "os/fatal.h"
#include "os/helper_thread.h"
#include "os/os.h"
#include "os/request_file.h"
#include "os/sink.h"
#include "os/text.h"
#include "report/profile.h"
#include "report/report.h"
#include "space/limit.h"

#include <string.h>

enum { NOT_NEAR, NEAR, VERY_NEAR, NEARNESSES };
enum { FALL_SHIFT = 3 };

/* The part of a limit that is left at most. The first: of one that refuses. */
static const uint32_t part_left[NEARNESSES] = { 2, [NEAR] = 10, [VERY_NEAR] = 24 };

/* The limits: of the process, its container, and labels. */
enum { OF_PROCESS, OF_CONTAINER, OF_LABELS, LIMITS = OF_LABELS + LABELS_LIMITED, LIMIT_KINDS = OF_LABELS + 1 };

static struct {
    atomic_u32 nearness;
    atomic_u64 left_bytes, refusals; /* then */
} box_told[LIMITS];

/* The file of the last rise. */
static char box_pattern[OPTION_PATH_MOST + 24];
static atomic_u64 began_ms[LIMIT_KINDS]; /* of a limit of the kind; 0: there is none */
static uint64_t box_process;
static uint32_t box_file;

struct found {
    struct report_limit limit;
    uint64_t refusals;
    bool presses;
};

/* False: there is no such limit. */
static bool look_at_limit(unsigned number, struct found *found)
{
    struct label_limit label;
    invariant(number < LIMITS);
    *found = (struct found){ .limit = { .label = "" } };
    if (number == OF_PROCESS) {
        found->refusals = counter_get(&limits.refusals);
    }
    if (number == OF_PROCESS && load_plain(&limits.hard_units) != SIZE_MAX) {
        found->limit = (struct report_limit){ "process", "", load_plain(&limits.hard_units) << UNIT_SHIFT,
                                              limit_footprint() << UNIT_SHIFT };
    } else if (number == OF_CONTAINER && load_plain(&limits.container_bytes) != 0) {
        const uint64_t bytes = load_plain(&limits.container_bytes), left = load_plain(&limits.container_left);
        found->presses = load_plain(&limits.container_presses) != 0;
        found->limit = (struct report_limit){ "container", "", bytes, bytes - min_size(left, bytes) };
    } else if (number >= OF_LABELS && label_limit_get(number - OF_LABELS, &label)) {
        found->refusals = label.refusals;
        found->limit = (struct report_limit){ "label", label.label, label.limit_bytes, label.used_bytes };
    }
    return found->limit.limit_bytes != 0;
}

/* Labels that come near their limits at any time do not hide that the process does. */
static atomic_u64 *began_of(unsigned number)
{
    invariant(number < LIMITS);
    return &began_ms[min_size(number, OF_LABELS)];
}

static uint64_t left_of(const struct report_limit *limit)
{
    return not_below_zero(limit->limit_bytes, limit->used_bytes);
}

static bool leaves_at_most(const struct report_limit *limit, uint32_t part)
{
    return left_of(limit) <= limit->limit_bytes / part;
}

/* How near a limit is, if it was told before or not. */
static uint32_t nearness_of(unsigned number, const struct found *found)
{
    const uint32_t before = load_plain(&box_told[number].nearness);
    const struct report_limit *const limit = &found->limit;
    invariant(before < NEARNESSES && limit->limit_bytes != 0);
    if (before != NOT_NEAR &&
        left_of(limit) > load_plain(&box_told[number].left_bytes) + (limit->limit_bytes >> FALL_SHIFT)) {
        return NOT_NEAR;
    }
    const bool refuses =
        found->refusals != load_plain(&box_told[number].refusals) && leaves_at_most(limit, part_left[0]);
    const uint32_t now = leaves_at_most(limit, part_left[VERY_NEAR]) || refuses     ? VERY_NEAR
                         : leaves_at_most(limit, part_left[NEAR]) || found->presses ? NEAR
                                                                                    : NOT_NEAR;
    return before > now ? before : now;
}

/* Whether something is to be noted of a limit, and how near it is. */
static bool box_moves(unsigned number, struct found *found, uint32_t *nearness)
{
    const uint32_t before = load_plain(&box_told[number].nearness);
    *nearness = look_at_limit(number, found) ? nearness_of(number, found) : NOT_NEAR;
    const bool begins = before == NOT_NEAR && *nearness != NOT_NEAR;
    const uint64_t began = load_plain(began_of(number));
    return *nearness != before && !(begins && began != 0 && os_ms_since(began) < BOX_PAUSE_MS);
}

/* In steps of 256 KiB: most slow allocations change nothing that the keeper does not see, too. */
static size_t rough_use(void)
{
    return counter_get(&depot.units[RUN_USED]) >> 4;
}

static bool box_may_move(void)
{
    return helper_thread_is_apart() || (helper_thread_may_open() && rough_use() != load_plain(&limits.reported_use));
}

bool black_box_is_due(void)
{
    bool due = false;
    if (box_pattern[0] != 0 && box_may_move()) {
        const size_t use = rough_use();
        const unsigned count = OF_LABELS + load_acquire(&label_quotas.count);
        invariant(count <= LIMITS);
        limit_ask_if_due();
        for (unsigned number = 0; number < count && !due; number++) {
            struct found found;
            uint32_t nearness;
            due = box_moves(number, &found, &nearness);
        }
        if (!due) {
            store_plain(&limits.reported_use, use);
        }
    }
    return due;
}

/* A rise begins with a file, and so does a child of a fork. */
static void write_box(const struct report_limit *limit, bool begins)
{
    invariant(limit->of != NULL && box_pattern[0] != 0);
    begins = begins || box_process != os_process_id();
    if (begins) {
        box_process = os_process_id();
        box_file = sink_oldest(box_pattern, BOX_FILES);
    }
    const int fd = sink_open_file(SINK_BLACK_BOX, box_pattern, box_file);
    if (fd < 0) {
        return;
    }
    /* Only a regular file can be cut. */
    if (!begins || request_file_cut(fd, 0)) {
        report_near(fd, limit);
        profile_save_part(fd);
    }
    sink_close(fd);
}

static void note(unsigned number, const struct found *found, uint32_t nearness)
{
    invariant(nearness < NEARNESSES && number < LIMITS);
    if (nearness != NOT_NEAR && load_plain(&box_told[number].nearness) == NOT_NEAR) {
        store_plain(began_of(number), max_size(os_now_ms(), 1));
    }
    store_plain(&box_told[number].left_bytes, left_of(&found->limit));
    store_plain(&box_told[number].refusals, found->refusals);
    store_plain(&box_told[number].nearness, nearness);
    if (number == OF_CONTAINER) {
        store_plain(&limits.near_part, nearness == VERY_NEAR ? 0 : part_left[nearness + 1]);
        limit_ask();
    }
}

/* One report tells all figures, so it serves all limits that are near now. */
void black_box_write(void)
{
    struct report_limit nearest = { .of = NULL };
    uint32_t most = NOT_NEAR;
    bool begins = false;
    for (unsigned number = 0; number < LIMITS; number++) {
        struct found found;
        uint32_t nearness;
        if (box_moves(number, &found, &nearness)) {
            begins |= load_plain(&box_told[number].nearness) == NOT_NEAR;
            nearest = nearness > most ? found.limit : nearest;
            most = nearness > most ? nearness : most;
            note(number, &found, nearness);
        }
    }
    if (most != NOT_NEAR) {
        write_box(&nearest, begins);
    }
}

void black_box_start(void)
{
    struct text text = { .buffer = box_pattern, .capacity = sizeof box_pattern - 1 };
    text_string(&text, option_path(OPTION_BLACKBOX));
    text_string(&text, "/tslab.%e.%p.%n");
    invariant(text.length < sizeof box_pattern - 1);
    store_plain(&limits.near_part, part_left[NEAR]);
    limit_look_once();
    helper_thread_watch_filter();
    store_plain(&trace.is_watched, 1);
}
