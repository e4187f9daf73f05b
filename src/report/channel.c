/* Commands are a row each. Buffers are static, because threads may have little stack, and only the keeper comes here.
 */
#include "report/channel.h"

#include <tslab/tslab.h>

#include "common/option.h"
#include "common/slice.h"
#include "common/trace.h"
#include "os/fatal.h"
#include "os/helper_thread.h"
#include "os/os.h"
#include "os/request_file.h"
#include "os/sink.h"
#include "os/text.h"
#include "report/profile.h"
#include "report/report.h"
#include "report/report_signal.h"
#include "slab/samples.h"
#include "thread/thread.h"

#include <stddef.h>
#include <string.h>

_Static_assert(sizeof(struct channel_head) <= CHANNEL_BODY_AT, "it fits");
_Static_assert(offsetof(struct channel_head, request) == 40, "docs/export.md tells the offsets");

enum { TIMED_MS_MOST = 86400000, SAID_BYTES = 960, TOLD_BYTES = ANSWER_BYTES };

/* The file of the calling keeper and the last request that it looked at. They end with the thread, as its descriptors
 * do, so neither the next keeper nor the child of a fork has them. */
static per_thread struct {
    int fd_and_1; /* 0: there is none */
    uint32_t seen;
    bool has_body;
} own;

/* An option that holds for a time, and the value that it then has again. */
static struct {
    uint64_t until_ms; /* 0: there is none */
    enum option option;
    char before[OPTION_TEXT_BYTES];
} timed;

/* A change is told on the standard error that the program was started with. */
static void tell_on_stderr(const struct text *answer, bool is_asked, uint32_t process)
{
    char buffer[TOLD_BYTES];
    struct text line = { .buffer = buffer, .capacity = sizeof buffer - 1 };
    const int fd = sink_open(SINK_STATISTICS, "", 0);
    uint32_t user;
    invariant(answer->length != 0 && (is_asked || process == 0));
    text_string(&line, "tslab: ");
    text_part(&line, answer->buffer, answer->length);
    if (is_asked && process == 0) {
        text_string(&line, " (asked from outside of the container)");
    } else if (is_asked) {
        text_string(&line, " (asked by process ");
        text_number(&line, process);
        if (os_user_of(process, &user)) {
            text_string(&line, " of user ");
            text_number(&line, user);
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

/* Commands. Each appends its answer, and writes its body to the descriptor. False: it is refused. */

static bool command_trim(struct text *answer, int fd)
{
    (void)fd;
    text_string(answer, "trim: gave back ");
    text_number(answer, tslab_trim());
    text_string(answer, " bytes");
    return true;
}

static bool say_written(struct text *answer, const char *what, bool is_written)
{
    invariant(answer->length == 0 && helper_thread_is_apart());
    text_string(answer, what);
    text_string(answer, is_written ? "" : " could not all be written: memory is short, or files may not be so long");
    return is_written;
}

static bool command_figures(struct text *answer, int fd)
{
    return say_written(answer, "figures", report_figures(fd));
}

static bool command_statistics(struct text *answer, int fd)
{
    return say_written(answer, "statistics", tslab_stats_json(fd) == TSLAB_OK);
}

static bool command_profile(struct text *answer, int fd)
{
    if (!samples_are_on()) {
        text_string(answer, "the profile is off; profile=512K switches it on");
        return false;
    }
    return say_written(answer, "profile", tslab_profile_write(fd) == TSLAB_OK);
}

static const struct {
    const char *name;
    bool (*run)(struct text *answer, int fd);
    bool has_body;
} commands[] = {
    { "trim", command_trim, false },
    { "figures", command_figures, true },
    { "statistics", command_statistics, true },
    { "profile", command_profile, true },
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

/* Options. */

static void note_until(enum option option, const char *before, uint64_t ms)
{
    invariant(option < OPTION_COUNT && option_may_change(option));
    if (ms != 0 && timed.until_ms == 0) {
        timed.option = option;
        memcpy(timed.before, before, sizeof timed.before);
    }
    if (ms != 0 || timed.option == option) {
        timed.until_ms = ms == 0 ? 0 : os_now_ms() + ms;
    }
}

/* A part is a name of an option, or its value. */
static void say_parts(struct text *answer, const char *const *parts)
{
    for (; *parts != NULL; parts++) {
        text_string(answer, *parts);
    }
}

static bool set_option(struct text *answer, const char *name, const char *value, uint64_t ms)
{
    static char before[OPTION_TEXT_BYTES];
    const enum option option = option_named(name);
    invariant(ms <= TIMED_MS_MOST);
    if (ms != 0 && timed.until_ms != 0 && timed.option != option) {
        say_parts(answer, (const char *const[]){ option_name(timed.option),
                                                 " holds for a time already, and only one option at once may", NULL });
        return false;
    }
    if (option < OPTION_COUNT) {
        (void)tslab_option_get(name, before, sizeof before);
    }
    const enum tslab_status status = tslab_option_set(name, value);
    invariant(status != TSLAB_OK || option_may_change(option));
    if (status != TSLAB_OK) {
        text_string(answer, status == TSLAB_NO_MEMORY ? "there is no memory for it: " : "");
        option_explain(answer, name, value);
        return false;
    }
    note_until(option, before, ms);
    say_parts(answer, (const char *const[]){ option_name(option), "=", value, ", was ", before, NULL });
    if (ms != 0) {
        text_string(answer, ", for ");
        text_number(answer, ms);
        text_string(answer, " ms");
    }
    return true;
}

/* The time of an option is over. A profile that has a file is written before it ends. */
static void set_back(void)
{
    char buffer[TOLD_BYTES];
    struct text line = { .buffer = buffer, .capacity = sizeof buffer };
    const char *const name = option_name(timed.option);
    invariant(timed.until_ms != 0 && option_may_change(timed.option));
    timed.until_ms = 0;
    if (timed.option == OPTION_PROFILE) {
        profile_save(fetch_add_relaxed(&report_signal.reports, 1));
    }
    (void)tslab_option_set(name, timed.before);
    say_parts(&line, (const char *const[]){ "its time is over: ", name, "=", timed.before, NULL });
    tell_on_stderr(&line, false, 0);
}

/* Requests. */

/* The body is there before its length is told. */
static bool run_command(struct text *answer, unsigned command, struct channel_head *head)
{
    const int fd = own.fd_and_1 - 1;
    invariant(command < COMMANDS && fd >= 0 && head->body_bytes == 0);
    if (!commands[command].has_body) {
        return commands[command].run(answer, fd);
    }
    struct os_file file;
    own.has_body = true;
    const bool has_room = request_file_cut(fd, CHANNEL_BODY_AT);
    const bool done = has_room ? commands[command].run(answer, fd) : say_written(answer, commands[command].name, false);
    head->body_bytes = done && os_file_of(fd, &file) && file.bytes > CHANNEL_BODY_AT ? file.bytes - CHANNEL_BODY_AT : 0;
    return done;
}

/* A command has its name alone, an option a value. `changes`: it is told on stderr. */
static bool execute(struct text *answer, char *asked, uint64_t ms, struct channel_head *head, bool *changes)
{
    char *const equals = strchr(asked, '=');
    invariant(head->body_bytes == 0 && own.fd_and_1 != 0);
    for (unsigned i = 0; i < COMMANDS && equals == NULL && ms == 0; i++) {
        const size_t length = strlen(commands[i].name);
        /* Not by strcmp: that of ThreadSanitizer may not have started. */
        if (strlen(asked) == length && memcmp(asked, commands[i].name, length) == 0) {
            *changes = !commands[i].has_body;
            return run_command(answer, i, head);
        }
    }
    *changes = true;
    if (equals != NULL && ms <= TIMED_MS_MOST) {
        *equals = 0;
        return set_option(answer, asked, equals + 1, ms);
    }
    text_string(answer, "no such command. There are NAME=VALUE");
    for (unsigned i = 0; i < COMMANDS; i++) {
        say_parts(answer, (const char *const[]){ ", ", commands[i].name, NULL });
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

/* Files of an asker that died wait for the next one that has the lock. */
static bool take(struct text *answer, char *request, struct channel_head *head)
{
    struct slice rest = { request, strnlen(request, REQUEST_BYTES) };
    uint32_t process = 0;
    uint64_t ms;
    bool changes;
    if (!is_text(request) || !slice_number(slice_cut(&rest, ' '), &ms)) {
        text_string(answer, "this is no request");
        return false;
    }
    if (!request_file_is_locked(own.fd_and_1 - 1, &process)) {
        text_string(answer, "nobody holds a lock on the file");
        return false;
    }
    invariant(rest.start >= request && rest.start + rest.length < request + REQUEST_BYTES);
    static char asked[REQUEST_BYTES];
    memcpy(asked, rest.start, rest.length + 1);
    invariant(asked[rest.length] == 0 && rest.length < sizeof asked);
    const bool done = execute(answer, asked, ms, head, &changes);
    if (done && changes) {
        tell_on_stderr(answer, true, process);
    }
    return done;
}

/* The number is written last: a reader that sees it finds the answer. */
static void answer_request(struct channel_head *head)
{
    static char said[SAID_BYTES];
    const int fd = own.fd_and_1 - 1;
    struct text answer = { .buffer = said, .capacity = sizeof said };
    struct text whole = { .buffer = head->answer, .capacity = sizeof head->answer - 1 };
    invariant(fd >= 0 && head->asked != own.seen);
    own.seen = head->asked;
    head->body_bytes = 0;
    const bool done = take(&answer, head->request, head);
    text_string(&whole, done ? "done: " : "refused: ");
    text_part(&whole, said, answer.length);
    head->answer[whole.length] = 0;
    invariant(whole.length < sizeof head->answer);
    (void)request_file_put(fd, offsetof(struct channel_head, answer), head->answer, whole.length + 1);
    (void)request_file_put(fd, offsetof(struct channel_head, body_bytes), &head->body_bytes, sizeof head->body_bytes);
    (void)request_file_put(fd, offsetof(struct channel_head, answered), &own.seen, sizeof own.seen);
}

/* The pages of an answer that nobody reads any more go. */
static void drop_body(void)
{
    uint32_t process;
    invariant(own.fd_and_1 > 0);
    if (own.has_body && !request_file_is_locked(own.fd_and_1 - 1, &process)) {
        own.has_body = !request_file_cut(own.fd_and_1 - 1, sizeof(struct channel_head));
    }
}

/* False: the system refuses, which is said once. A descriptor that others in the process have, too, would be a child's
 * as well. */
static bool make_file(void)
{
    static const char refused[] =
        "tslab: option TSLAB_EXPORT has no effect: the system gives the library no thread with "
        "descriptors of its own (Linux 5.9), or no memfd\n";
    static bool is_said;
    const struct channel_head head = { .magic = CHANNEL_MAGIC, .version = CHANNEL_VERSION, .pid = os_process_id() };
    invariant(own.fd_and_1 == 0 && !own.has_body);
    const int fd = helper_thread_is_apart() ? request_file_make(CHANNEL_NAME) : -1;
    if (fd >= 0 && request_file_put(fd, 0, &head, sizeof head)) {
        own.fd_and_1 = fd + 1;
        own.seen = 0;
        return true;
    }
    if (fd >= 0) {
        os_close(fd);
    }
    if (!is_said) {
        is_said = true;
        (void)os_write(sink_open(SINK_STATISTICS, "", 0), refused, sizeof refused - 1);
    }
    return false;
}

/* Answers a request of another process. The keeper that calls gets its file here, if it has none yet. */
static void channel_look(void)
{
    static struct channel_head head;
    invariant(front_current->thread == NULL || !front_current->thread->gate.is_inside);
    if (own.fd_and_1 == 0 && !make_file()) {
        return;
    }
    if (timed.until_ms != 0 && os_now_ms() >= timed.until_ms) {
        set_back();
    }
    if (os_read_at(own.fd_and_1 - 1, 0, &head, sizeof head) == sizeof head && head.asked != own.seen) {
        answer_request(&head);
    } else {
        drop_body();
    }
}

void channel_start(void)
{
    invariant(report_signal.answer == NULL);
    report_signal.answer = channel_look;
    store_plain(&trace.is_watched, 1);
}
