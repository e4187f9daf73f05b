/* Commands are a row each. Buffers are static, because threads may have little stack, and one at a time comes here. */
#include "report/inbox.h"

#include "base/build.h"

#include <tslab/tslab.h>

#include "common/option.h"
#include "common/slice.h"
#include "common/trace.h"
#include "os/fatal.h"
#include "os/os.h"
#include "os/shared_memory.h"
#include "os/sink.h"
#include "os/text.h"
#include "report/profile.h"
#include "report/report_timer.h"
#include "report/summary.h"
#include "slab/samples.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

_Static_assert(sizeof(struct inbox_page) <= INBOX_BYTES, "it fits");
_Static_assert(offsetof(struct inbox_page, request) == 32, "docs/export.md tells the offsets");

enum { ROOT = 0, TIMED_MS_MOST = 86400000, SAID_BYTES = 960, TOLD_BYTES = ANSWER_BYTES };

static struct {
    struct shared shared;
    uint64_t pid;       /* of the process that has made it */
    atomic_u32 is_ours; /* 0: there is none, or it is the parent's */
    atomic_u32 seen;    /* the last value of `asked` that was looked at */

    /* An option that holds for a time, and the value that it then has again. */
    atomic_u64 until_ms; /* 0: there is none */
    enum option option;
    char before[OPTION_TEXT_BYTES];
} inbox;

/* Who asks. Without a proof, only the number is known by which it calls itself. */
struct sender {
    uint64_t process;
    uint32_t user;
    bool is_proven;
};

static struct inbox_page *inbox_page(void)
{
    return (struct inbox_page *)(void *)inbox.shared.start;
}

static bool is_over(void)
{
    const uint64_t until_ms = load_plain(&inbox.until_ms);
    return until_ms != 0 && os_now_ms() >= until_ms;
}

static bool something_is_wanted(void)
{
    return (load_acquire(&inbox.is_ours) != 0 && load_acquire(&inbox_page()->asked) != load_plain(&inbox.seen)) ||
           is_over();
}

/* What is done is told on the standard error that the program was started with. */
static void tell_on_stderr(const struct sender *sender, const struct text *answer)
{
    char buffer[TOLD_BYTES];
    struct text line = { .buffer = buffer, .capacity = sizeof buffer - 1 };
    const int fd = sink_open(SINK_STATISTICS, "", 0);
    text_string(&line, "tslab: ");
    text_part(&line, answer->buffer, answer->length);
    if (sender != NULL) {
        text_string(&line, sender->is_proven ? " (asked by process " : " (asked by a process that calls itself ");
        text_number(&line, sender->process, 0);
        text_string(&line, sender->is_proven ? " of user " : "");
        if (sender->is_proven) {
            text_number(&line, sender->user, 0);
        }
        text_string(&line, ")");
    }
    line.buffer[line.length++] = '\n';
    invariant(line.length <= sizeof buffer);
    if (fd >= 0) {
        (void)os_write(fd, buffer, line.length);
        sink_close(fd);
    }
}

/* Commands. Each appends its answer. False: it is refused. */

static bool command_trim(struct text *answer, const char *unused, uint64_t number)
{
    (void)unused;
    (void)number;
    text_string(answer, "trim: gave back ");
    text_number(answer, tslab_trim(), 0);
    text_string(answer, " bytes");
    return true;
}

/* Opens a file, or standard error, and says what gets where. -1: it cannot be opened. */
static int open_and_tell(struct text *answer, const char *what, const char *pattern, uint64_t number)
{
    char path[SINK_PATH_BYTES] = "standard error";
    const bool is_path = pattern[0] != 0 && sink_path(path, pattern, (uint32_t)number);
    int why = pattern[0] == 0 ? 0 : ENAMETOOLONG;
    const int fd = pattern[0] == 0 ? sink_open(SINK_STATISTICS, "", 0) : is_path ? os_open_to_append(path, &why) : -1;
    invariant(fd >= -1);
    text_string(answer, fd < 0 ? "no " : "");
    text_string(answer, what);
    text_string(answer, fd < 0 ? ", cannot open " : pattern[0] == 0 ? " on " : " in ");
    text_foreign(answer, pattern[0] == 0 || is_path ? path : pattern);
    text_string(answer, fd < 0 && why != 0 ? ": " : "");
    text_string(answer, fd < 0 && why != 0 ? os_why(why) : "");
    return fd;
}

static bool command_dump_stats(struct text *answer, const char *file, uint64_t number)
{
    const int fd = open_and_tell(answer, "statistics", file[0] != 0 ? file : option_path(OPTION_STATS), number);
    if (fd < 0) {
        return false;
    }
    const bool done = option_choice(OPTION_STATS) == STATS_JSON ? tslab_stats_json(fd) == TSLAB_OK : summary_print(fd);
    sink_close(fd);
    text_string(answer, done ? "" : ", where they could not all be written");
    return done;
}

static bool command_dump_profile(struct text *answer, const char *file, uint64_t number)
{
    const char *const pattern = file[0] != 0 ? file : option_path(OPTION_PROFILE);
    if (!samples_are_on()) {
        text_string(answer, "the profile is off; profile=512K switches it on");
        return false;
    }
    if (pattern[0] == 0) {
        text_string(answer, "the profile has no file; dump-profile=FILE names one");
        return false;
    }
    const int fd = open_and_tell(answer, "profile", pattern, number);
    const bool done = fd >= 0 && tslab_profile_write(fd) == TSLAB_OK;
    if (fd >= 0) {
        sink_close(fd);
    }
    text_string(answer, done || fd < 0 ? "" : ", where it could not be written");
    return done;
}

/* What a signal would have written. */
static bool command_dump(struct text *answer, const char *unused, uint64_t number)
{
    (void)unused;
    const bool done = command_dump_stats(answer, "", number);
    if (!done || !samples_are_on() || option_path(OPTION_PROFILE)[0] == 0) {
        return done;
    }
    text_string(answer, "; ");
    return command_dump_profile(answer, "", number);
}

static const struct {
    const char *name;
    bool (*run)(struct text *answer, const char *value, uint64_t number);
    bool has_value;
} commands[] = {
    { "trim", command_trim, false },
    { "dump", command_dump, false },
    { "dump-stats", command_dump_stats, true },
    { "dump-profile", command_dump_profile, true },
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

/* Options. */

static void note_until(enum option option, const char *before, uint64_t ms)
{
    invariant(load_plain(&due.is_writing) == 1 && option < OPTION_COUNT);
    if (ms != 0 && load_plain(&inbox.until_ms) == 0) {
        inbox.option = option;
        memcpy(inbox.before, before, sizeof inbox.before);
    }
    if (ms != 0 || inbox.option == option) {
        store_plain(&inbox.until_ms, ms == 0 ? 0 : os_now_ms() + ms);
    }
}

static bool set_option(struct text *answer, const char *name, const char *value, uint64_t ms)
{
    static char before[OPTION_TEXT_BYTES];
    const enum option option = option_named(name);
    if (ms != 0 && load_plain(&inbox.until_ms) != 0 && inbox.option != option) {
        text_string(answer, option_name(inbox.option));
        text_string(answer, " holds for a time already, and only one option at once may");
        return false;
    }
    if (ms != 0 && option == OPTION_TRACE) {
        text_string(answer, "trace has no end: its file keeps the newest events");
        return false;
    }
    if (option < OPTION_COUNT) {
        (void)tslab_option_get(name, before, sizeof before);
    }
    const enum tslab_status status = tslab_option_set(name, value);
    invariant(status != TSLAB_OK || option_may_change(option));
    if (status != TSLAB_OK) {
        text_string(answer, status == TSLAB_NO_MEMORY ? "there is no memory for it: " : "");
        if (option == OPTION_TRACE && option_path(option)[0] != 0) {
            text_string(answer, "trace: its file stays, or cannot be written: ");
            text_foreign(answer, option_path(option));
        } else {
            option_explain(answer, name, value);
        }
        return false;
    }
    note_until(option, before, ms);
    text_string(answer, option_name(option));
    text_string(answer, "=");
    text_string(answer, value);
    text_string(answer, ", was ");
    text_string(answer, before);
    if (ms != 0) {
        text_string(answer, ", for ");
        text_number(answer, ms, 0);
        text_string(answer, " ms");
    }
    return true;
}

/* The time of an option is over. A profile is written before it ends. */
static void set_back(void)
{
    char buffer[TOLD_BYTES];
    struct text line = { .buffer = buffer, .capacity = sizeof buffer };
    const char *const name = option_name(inbox.option);
    invariant(load_plain(&inbox.until_ms) != 0 && option_may_change(inbox.option));
    store_plain(&inbox.until_ms, 0);
    if (inbox.option == OPTION_PROFILE) {
        profile_save(fetch_add_relaxed(&due.reports, 1));
    }
    (void)tslab_option_set(name, inbox.before);
    text_string(&line, "its time is over: ");
    text_string(&line, name);
    text_string(&line, "=");
    text_string(&line, inbox.before);
    tell_on_stderr(NULL, &line);
}

/* Requests. */

/* The value lies behind the name; NULL: there is none. */
static char *cut_value(char *command)
{
    char *const equals = strchr(command, '=');
    if (equals != NULL) {
        *equals = 0;
        return equals + 1;
    }
    return NULL;
}

static bool execute(struct text *answer, char *command, uint64_t ms)
{
    const char *const value = cut_value(command);
    for (unsigned i = 0; i < COMMANDS; i++) {
        /* Not by strcmp: that of ThreadSanitizer may not have started. */
        const bool is_it =
            strlen(command) == strlen(commands[i].name) && memcmp(command, commands[i].name, strlen(command)) == 0;
        if (is_it && ms == 0 && (value == NULL || (commands[i].has_value && value[0] != 0))) {
            return commands[i].run(answer, value == NULL ? "" : value, fetch_add_relaxed(&due.reports, 1));
        }
    }
    if (value != NULL && ms <= TIMED_MS_MOST) {
        return set_option(answer, command, value, ms);
    }
    text_string(answer, "no such command. There are NAME=VALUE");
    for (unsigned i = 0; i < COMMANDS; i++) {
        text_string(answer, ", ");
        text_string(answer, commands[i].name);
        text_string(answer, commands[i].has_value ? "[=FILE]" : "");
    }
    return false;
}

/* Whether the text ends, and has no control characters. */
static bool is_text(const char *request)
{
    const size_t length = strnlen(request, REQUEST_BYTES);
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)request[i] < ' ' || request[i] == 0x7f) {
            return false;
        }
    }
    return length < REQUEST_BYTES;
}

static bool cut_number(struct slice *rest, uint64_t *number)
{
    return slice_number(slice_cut(rest, ' '), number);
}

/* Where the kernel does not know who asks, it has still let it open the file. The lock is looked at again, because its
 * holder may have ended, and its number may be another process's. */
static bool may_ask(struct text *answer, struct sender *sender)
{
    uint32_t process;
    uint32_t again;
    invariant(inbox.pid == os_process_id());
    if (!shared_is_held(&inbox.shared, &process)) {
        text_string(answer, "nobody holds a lock on the inbox");
        return false;
    }
    sender->is_proven =
        process != 0 && os_user_of(process, &sender->user) && shared_is_held(&inbox.shared, &again) && again == process;
    sender->process = sender->is_proven ? process : sender->process;
    invariant(!sender->is_proven || sender->process != 0);
    const bool is_root = sender->is_proven && sender->user == ROOT;
    const bool is_same = !os_is_privileged() && (!sender->is_proven || sender->user == os_user());
    text_string(answer, is_root || is_same ? "" : "only root, and the same user where the process has no more rights");
    return is_root || is_same;
}

static bool take(struct text *answer, char *request)
{
    struct sender sender = { .process = 0 };
    struct slice rest = { request, strnlen(request, REQUEST_BYTES) };
    uint64_t ms;
    if (!is_text(request) || !cut_number(&rest, &sender.process) || !cut_number(&rest, &ms)) {
        text_string(answer, "this is no request");
        return false;
    }
    if (!may_ask(answer, &sender)) {
        return false;
    }
    static char command[REQUEST_BYTES];
    memcpy(command, rest.start, rest.length + 1);
    invariant(command[rest.length] == 0 && rest.length < sizeof command);
    const bool done = execute(answer, command, ms);
    if (done) {
        tell_on_stderr(&sender, answer);
    }
    return done;
}

static void answer_request(void)
{
    static char request[REQUEST_BYTES], said[SAID_BYTES], buffer[ANSWER_BYTES];
    struct inbox_page *const page = inbox_page();
    struct text answer = { .buffer = said, .capacity = sizeof said };
    struct text whole = { .buffer = buffer, .capacity = sizeof buffer - 1 };
    const uint32_t asked = load_acquire(&page->asked);
    if (asked == load_plain(&inbox.seen)) {
        return;
    }
    store_plain(&inbox.seen, asked);
    invariant(inbox.shared.start != NULL && load_plain(&due.is_writing) == 1);
    memcpy(request, page->request, sizeof request);
    text_string(&whole, take(&answer, request) ? "done: " : "refused: ");
    text_part(&whole, said, answer.length);
    invariant(whole.length < sizeof buffer);
    buffer[whole.length] = 0;
    memcpy(page->answer, buffer, whole.length + 1);
    store_release(&page->answered, asked);
    shared_wake(&page->answered);
}

static void do_what_is_wanted(void)
{
    invariant(load_plain(&due.is_writing) == 1);
    if (is_over()) {
        set_back();
    }
    if (load_plain(&inbox.is_ours) == 0) {
        return;
    }
    if (inbox.pid != os_process_id()) {
        store_plain(&inbox.is_ours, 0);
    } else {
        answer_request();
    }
}

void inbox_keep(void)
{
    const uint64_t pid = os_process_id();
    const bool is_same = load_plain(&inbox.is_ours) != 0 && inbox.pid == pid;
    if (is_same && shared_is_found(&inbox.shared)) {
        return;
    }
    store_plain(&inbox.is_ours, 0);
    const bool is_first = inbox.shared.start == NULL;
    if (!shared_make_inbox(&inbox.shared, INBOX_NAME, round_up(INBOX_BYTES, os_page_bytes()))) {
        return;
    }
    struct inbox_page *const page = inbox_page();
    invariant(load_plain(&page->magic) == 0 && load_plain(&page->asked) == 0);
    page->version = INBOX_VERSION;
    page->pid = pid;
    inbox.pid = pid;
    store_plain(&inbox.seen, 0);
    invariant(load_plain(&inbox.is_ours) == 0);
    store_release(&page->magic, INBOX_MAGIC);
    store_release(&inbox.is_ours, 1);
    if (is_first) {
        report_timer_obey(something_is_wanted, do_what_is_wanted);
        store_release(&trace.bell, &page->bell);
    }
}
