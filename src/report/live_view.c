/* Figures are copied as they lie in their structs, which have the order of the lists of names. */
#include "report/live_view.h"

#include "base/build.h"

#include <tslab/tslab.h>

#include "audit/accounts.h"
#include "common/option.h"
#include "common/quota.h"
#include "os/fatal.h"
#include "os/os.h"
#include "os/shared_memory.h"
#include "os/text.h"
#include "report/epoch_list.h"
#include "report/inbox.h"
#include "report/report_timer.h"
#include "report/statistics.h"
#include "space/limit.h"

#include <stddef.h>
#include <string.h>
#include <unistd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the numbers on the board are little-endian");

/* How often to post, at least, and how many times longer than it took to wait before the next time. A young board is
 * posted sooner, because most programs grow at their start. */
enum {
    BOARD_LOOK_MS = 250,
    YOUNG_MS = 4,
    WATCHED_MS = 1000,
    WATCHED_SHARE = 100,
    ALONE_MS = 2000,
    ALONE_SHARE = 1000,
    RETRY_MS = 10000, /* where there is no memory for a board */
};

#define ACCOUNT_STRING(name, ...) #name "\0" #name "_untouched\0"
_Static_assert(sizeof(((struct label_group *)NULL)->label) == BOARD_TEXT_BYTES, "labels fit");
_Static_assert(sizeof(struct board_copy) == offsetof(struct board_copy, zero) + sizeof(uint32_t), "it has no gap");
_Static_assert((int)LABEL_BYTES <= (int)BOARD_TEXT_BYTES, "those with a limit, too");

struct board_figures {
    BOARD_FIGURES(FIGURE_MEMBER)
};

static const char names_of_process[] =
    BOARD_FIGURES(FIGURE_NAME) PROCESS_FIGURES(FIGURE_NAME) TOTAL_FIGURES(FIGURE_NAME);
static const char names_of_accounts[] = ACCOUNT_FIGURES(ACCOUNT_STRING);
static const char names_of_classes[] = CLASS_COUNTED(FIGURE_NAME);
static const char names_of_labels[] = LABEL_FIGURES(FIGURE_NAME);
static const char names_of_limits[] = LABEL_LIMIT_FIGURES(FIGURE_NAME);
enum {
    PROCESS_CELLS = BOARD_FIGURES(FIGURE_ONE) PROCESS_FIGURES(FIGURE_ONE) TOTAL_FIGURES(FIGURE_ONE),
    CLASS_CELLS = CLASS_COUNTED(FIGURE_ONE),
    LABEL_CELLS = LABEL_FIGURES(FIGURE_ONE),
    LIMIT_CELLS = LABEL_LIMIT_FIGURES(FIGURE_ONE),
};

static const struct {
    const char *names;
    uint32_t bytes, columns, text_bytes, rows_most;
} sections[BOARD_SECTIONS] = {
    [BOARD_PROCESS] = { names_of_process, sizeof names_of_process - 1, PROCESS_CELLS, 0, 1 },
    [BOARD_ACCOUNTS] = { names_of_accounts, sizeof names_of_accounts - 1, 2 * ACCOUNTS, 0, 1 },
    [BOARD_CLASSES] = { names_of_classes, sizeof names_of_classes - 1, CLASS_CELLS, 0, CLASS_LIMIT - 1 },
    [BOARD_LABELS] = { names_of_labels, sizeof names_of_labels - 1, LABEL_CELLS, BOARD_TEXT_BYTES, LABELS_TOLD + 1 },
    [BOARD_OPTIONS] = { "may_change", sizeof "may_change", 1, BOARD_OPTION_BYTES, OPTION_COUNT },
    [BOARD_PROGRAM] = { "", 0, 0, BOARD_PROGRAM_BYTES, 1 },
    [BOARD_LIMITS] = { names_of_limits, sizeof names_of_limits - 1, LIMIT_CELLS, BOARD_TEXT_BYTES, LABELS_LIMITED },
};

static struct {
    struct shared shared;
    uint64_t pid;    /* of the process that has made it */
    uint64_t number; /* of postings */
    uint64_t made_ms, written_ms, took_ms;
} board;

/* CRC-32, by half bytes. */
static uint32_t checksum(const unsigned char *at, size_t bytes)
{
    static const uint32_t table[16] = { 0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
                                        0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                        0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c };
    uint32_t sum = ~(uint32_t)0;
    for (size_t i = 0; i < bytes; i++) {
        sum = table[(sum ^ at[i]) & 15] ^ sum >> 4;
        sum = table[(sum ^ (uint32_t)at[i] >> 4) & 15] ^ sum >> 4;
    }
    return ~sum;
}

/* The sections. Each writes its rows at `at` and returns what is behind them. */

static uint64_t *post_figures(uint64_t *at, const void *figures, size_t bytes)
{
    invariant((uintptr_t)at % sizeof *at == 0 && bytes % sizeof *at == 0);
    memcpy(at, figures, bytes);
    return at + bytes / sizeof *at;
}

static noinline uint64_t *post_process(uint64_t *at, const struct accounts *accounts)
{
    struct tslab_limits limits_now;
    limit_get(&limits_now);
    const struct board_figures own = {
        .written_ms = os_now_ms(),
        .took_ms = board.took_ms,
        .hard_limit_bytes = limits_now.hard_bytes,
        .soft_limit_bytes = limits_now.soft_bytes,
        .soft_pressure = load_plain(&limits.state) != LIMIT_CALM,
        .container_pressure = load_plain(&limits.container_presses) != 0,
    };
    struct process_figures process;
    struct total_figures totals;
    stats_process(&process, accounts);
    stats_totals(&totals);
    const uint64_t *const start = at;
    at = post_figures(at, &own, sizeof own);
    at = post_figures(at, &process, sizeof process);
    at = post_figures(at, &totals, sizeof totals);
    invariant(at == start + sections[BOARD_PROCESS].columns);
    return at;
}

/* A class that never had a slab has no row. */
static noinline uint64_t *post_class(uint64_t *at, unsigned class)
{
    struct class_figures figures;
    invariant(class != CLASS_NONE);
    stats_class_counted(class, &figures);
    return figures.slabs_new == 0 ? at : post_figures(at, &figures, CLASS_CELLS * sizeof *at);
}

static noinline uint64_t *post_label(uint64_t *at, const struct label_group *group)
{
    invariant(group->labels != 0);
    at = post_figures(at, &group->labels, LABEL_CELLS * sizeof *at);
    return post_figures(at, group->label, BOARD_TEXT_BYTES);
}

/* A text with zeros behind it; what is too long is cut off. */
static uint64_t *post_text(uint64_t *at, uint32_t bytes, const struct text *text)
{
    char *const start = (char *)at;
    invariant(text->length <= bytes && bytes % sizeof *at == 0);
    memset(start + text->length, 0, bytes - text->length);
    return at + bytes / sizeof *at;
}

static noinline uint64_t *post_option(uint64_t *at, enum option option)
{
    struct text text = { .buffer = (char *)(at + 1), .capacity = BOARD_OPTION_BYTES };
    *at++ = option_may_change(option);
    text_string(&text, option_name(option));
    text_string(&text, "=");
    option_tell(&text, option, limit_option(option));
    return post_text(at, BOARD_OPTION_BYTES, &text);
}

static noinline uint64_t *post_program(uint64_t *at)
{
    struct text text = { .buffer = (char *)at, .capacity = BOARD_PROGRAM_BYTES };
    text_foreign(&text, os_program_name());
    return post_text(at, BOARD_PROGRAM_BYTES, &text);
}

static noinline uint64_t *post_limit(uint64_t *at, const struct label_limit *limit)
{
    invariant(limit->label[0] != 0);
    at = post_figures(at, &limit->limit_bytes, LIMIT_CELLS * sizeof *at);
    struct text text = { .buffer = (char *)at, .capacity = BOARD_TEXT_BYTES };
    text_string(&text, limit->label);
    return post_text(at, BOARD_TEXT_BYTES, &text);
}

/* The board. */

static size_t head_bytes(void)
{
    size_t bytes = sizeof(struct board_head);
    for (unsigned i = 0; i < BOARD_SECTIONS; i++) {
        bytes += sections[i].bytes;
    }
    return round_up(bytes, sizeof(uint64_t));
}

static size_t copy_bytes(void)
{
    size_t bytes = sizeof(struct board_copy);
    for (unsigned i = 0; i < BOARD_SECTIONS; i++) {
        bytes += (size_t)sections[i].rows_most * (sections[i].columns * sizeof(uint64_t) + sections[i].text_bytes);
    }
    invariant(bytes % sizeof(uint64_t) == 0);
    return bytes;
}

static void write_head(char *start)
{
    struct board_head *const head = (struct board_head *)(void *)start;
    size_t at = sizeof *head;
    invariant(load_plain(&head->magic) == 0 && head->sections == 0);
    head->version = BOARD_VERSION;
    head->head_bytes = (uint32_t)head_bytes();
    head->copies = BOARD_COPIES;
    head->copy_bytes = (uint32_t)copy_bytes();
    head->sections = BOARD_SECTIONS;
    for (unsigned i = 0; i < BOARD_SECTIONS; i++) {
        head->section[i] = (struct board_section){ .names_at = (uint32_t)at,
                                                   .columns = sections[i].columns,
                                                   .text_bytes = sections[i].text_bytes };
        memcpy(start + at, sections[i].names, sections[i].bytes);
        at += sections[i].bytes;
    }
    invariant(at <= head->head_bytes);
    store_release(&head->magic, BOARD_MAGIC);
}

/* Whether there is a board of this process that others can find. If not, makes one. */
static bool is_there(void)
{
    const uint64_t pid = os_process_id();
    const bool is_ours = board.shared.start != NULL && board.pid == pid;
    if (is_ours && shared_is_found(&board.shared)) {
        return true;
    }
    if (board.shared.start != NULL) {
        shared_drop(&board.shared);
    }
    const size_t bytes = round_up(head_bytes() + BOARD_COPIES * copy_bytes(), os_page_bytes());
    board.number = 0;
    board.pid = pid;
    board.made_ms = os_now_ms();
    if (!shared_make(&board.shared, BOARD_NAME, bytes)) {
        return false;
    }
    write_head(board.shared.start);
    return true;
}

static void fill(struct board_copy *copy)
{
    uint64_t *at = (uint64_t *)(void *)(copy + 1);
    struct label_group group;
    struct label_limit limit;
    uint64_t collection = 0;
    struct accounts accounts;
    (void)accounts_take(&accounts);
    *copy = (struct board_copy){ .number = board.number, .pid = board.pid, .rows = { 1, 1, 0, 0, OPTION_COUNT, 1, 0 } };
    (void)strncpy(copy->library, tslab_version(), sizeof copy->library - 1);
    at = post_process(at, &accounts);
    at = post_figures(at, &accounts.live_slots, ACCOUNTS * sizeof accounts.live_slots);
    for (unsigned class = 1; class < CLASS_LIMIT; class ++) {
        uint64_t *const before = at;
        at = post_class(at, class);
        copy->rows[BOARD_CLASSES] += at != before;
    }
    for (uint32_t rank = 0; rank <= LABELS_TOLD && epochs_label(rank, &collection, &group); rank++) {
        at = post_label(at, &group);
        copy->rows[BOARD_LABELS]++;
    }
    for (unsigned option = 0; option < OPTION_COUNT; option++) {
        at = post_option(at, option);
    }
    at = post_program(at);
    while (label_limit_get(copy->rows[BOARD_LIMITS], &limit)) {
        at = post_limit(at, &limit);
        copy->rows[BOARD_LIMITS]++;
    }
    copy->used_bytes = (uint32_t)((char *)at - (char *)copy);
    invariant(copy->used_bytes > sizeof *copy && copy->used_bytes <= copy_bytes());
    invariant(copy->rows[BOARD_CLASSES] < CLASS_LIMIT && copy->rows[BOARD_LABELS] <= LABELS_TOLD + 1);
    const unsigned char *const summed = (const unsigned char *)copy + sizeof copy->checksum;
    copy->checksum = checksum(summed, copy->used_bytes - sizeof copy->checksum);
}

static bool is_time(void)
{
    const bool watched = shared_is_watched(&board.shared);
    invariant(board.number != 0 && board.pid == os_process_id());
    const uint64_t usual_ms = watched ? WATCHED_MS : ALONE_MS;
    const uint64_t young_ms = max_size(YOUNG_MS, (board.written_ms - board.made_ms) / 2);
    return report_is_time(board.written_ms, board.took_ms, min_size(usual_ms, young_ms),
                          watched ? WATCHED_SHARE : ALONE_SHARE);
}

uint64_t board_post(bool at_once)
{
    const uint64_t now_ms = os_now_ms();
    if (!is_there()) {
        return RETRY_MS;
    }
    if (board.number == 0 || at_once || is_time()) {
        inbox_keep();
        board.number++;
        invariant(load_plain(&due.is_writing) == 1);
        char *const copies = board.shared.start + head_bytes();
        fill((struct board_copy *)(void *)(copies + board.number % BOARD_COPIES * copy_bytes()));
        board.took_ms = os_ms_since(now_ms);
        board.written_ms = now_ms + board.took_ms;
    }
    return now_ms - board.made_ms < ALONE_MS ? YOUNG_MS : BOARD_LOOK_MS;
}

void board_start(void)
{
    static const char refused[] =
        "tslab: option TSLAB_EXPORT has no effect for now: the system gives no memfd, or no number above 99 for it\n";
    report_timer_post(board_post);
    if (board.shared.start == NULL) {
        (void)os_write(STDERR_FILENO, refused, sizeof refused - 1);
    }
}
