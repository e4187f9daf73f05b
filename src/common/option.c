/* Parses the environment twice with the same code: silently at the start, when values are set, and later to complain on
 * stderr. */
#include "common/option.h"

#include "common/quota.h"
#include "common/slice.h"
#include "os/fatal.h"
#include "os/os.h"
#include "os/text.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

struct option_row {
    const char *name; /* as in TSLAB_OPTIONS; the variable TSLAB_<NAME> has it in capitals */
    uint64_t fallback, smallest, largest;
    const char *unit, *doc;
};

#define OPTION_ROW(constant, name, fallback, smallest, largest, unit, doc)                                             \
    { #name, (fallback), (smallest), (largest), (unit), (doc) },
static const struct option_row rows[OPTION_COUNT] = { OPTION_TABLE(OPTION_ROW) };

#define OPTION_DEFAULT(constant, name, fallback, smallest, largest, unit, doc) (fallback),
_Alignas(CACHE_LINE) atomic_u64 option_values[OPTION_ROOM] = { OPTION_TABLE(OPTION_DEFAULT) };

char option_path[OPTION_PATH_MOST + 1];
char option_trace_path[OPTION_PATH_MOST + 1];
char option_profile_path[OPTION_PATH_MOST + 1];

/* Where the path of an option is that is one. NULL: the option is none. */
static char *path_of(unsigned option)
{
    switch (option) {
    case OPTION_STATS_FILE:
        return option_path;
    case OPTION_TRACE:
        return option_trace_path;
    case OPTION_PROFILE_FILE:
        return option_profile_path;
    default:
        return NULL;
    }
}

enum { MESSAGE_BYTES = 512 };

static void complain_about_value(struct slice name, struct slice value, const char *what, const struct option_row *row)
{
    char buffer[MESSAGE_BYTES];
    struct text line = { .buffer = buffer, .capacity = sizeof buffer - 1 };
    text_string(&line, "tslab: option ");
    text_part(&line, name.start, name.length);
    if (row != NULL) {
        text_string(&line, "=");
        text_part(&line, value.start, value.length);
    }
    text_string(&line, what);
    if (row != NULL) {
        text_number(&line, row->smallest, 0);
        text_string(&line, " to ");
        text_number(&line, row->largest, 0);
        if (row->unit[0] != 0) {
            text_string(&line, " ");
            text_string(&line, row->unit);
        }
        text_string(&line, "; it keeps its default ");
        text_number(&line, row->fallback, 0);
    } else {
        text_string(&line, "; known are");
        for (unsigned i = 0; i < OPTION_COUNT; i++) {
            text_string(&line, i == 0 ? " " : ", ");
            text_string(&line, rows[i].name);
        }
    }
    invariant(line.length < sizeof buffer);
    buffer[line.length++] = '\n';
    (void)os_write(STDERR_FILENO, buffer, line.length);
}

/* An option whose values are words. A number may follow one: `number` is what the word's name calls it. */
struct word {
    enum option option;
    const char *word;
    uint64_t value;
    const char *number;
    uint64_t largest;
};

static const struct word option_words[] = {
    { OPTION_PURGE, "adaptive", PURGE_ADAPTIVE, "", 0 },
    { OPTION_PURGE, "delayed", PURGE_DELAYED, "", 0 },
    { OPTION_PURGE, "eager", PURGE_EAGER, "", 0 },
    { OPTION_PURGE, "lazy", PURGE_LAZY, "", 0 },
    { OPTION_PURGE, "never", PURGE_NEVER, "", 0 },
    { OPTION_HUGE_PAGES, "adaptive", HUGE_PAGES_ADAPTIVE, "", 0 },
    { OPTION_HUGE_PAGES, "always", HUGE_PAGES_ALWAYS, "", 0 },
    { OPTION_HUGE_PAGES, "never", HUGE_PAGES_NEVER, "", 0 },
    { OPTION_EPOCH_POLICY, "never", WORK_NEVER, "", 0 },
    { OPTION_EPOCH_POLICY, "per-request", WORK_PER_REQUEST, "", 0 },
    { OPTION_EPOCH_POLICY, "batch-", WORK_BATCH, "N", 1000000 },
    { OPTION_EPOCH_POLICY, "interval-", WORK_INTERVAL, "MS", 86400000 },
    { OPTION_EPOCH_POLICY, "manual", WORK_MANUAL, "", 0 },
};
enum { WORDS = sizeof option_words / sizeof option_words[0] };

static bool has_words(unsigned option)
{
    return option == OPTION_PURGE || option == OPTION_HUGE_PAGES || option == OPTION_EPOCH_POLICY;
}

/* Parses one of the option's words, with its number. False when it is none. */
static bool parse_word(unsigned option, struct slice part, uint64_t *value)
{
    for (unsigned i = 0; i < WORDS; i++) {
        const struct word *known = &option_words[i];
        const size_t length = strlen(known->word);
        uint64_t number = 0;
        if (known->option != option || part.length < length || strncmp(part.start, known->word, length) != 0) {
            continue;
        }
        const struct slice rest = { part.start + length, part.length - length };
        const bool fits = known->largest == 0 ? rest.length == 0
                                              : slice_number(rest, &number) && number >= 1 && number <= known->largest;
        if (fits) {
            invariant(known->value < 1 << WORD_SHIFT && number <= UINT64_MAX >> WORD_SHIFT);
            *value = number << WORD_SHIFT | known->value;
            return true;
        }
    }
    return false;
}

static void text_word(struct text *text, unsigned option, uint64_t value)
{
    for (unsigned i = 0; i < WORDS; i++) {
        if (option_words[i].option == option && option_words[i].value == (value & ((1 << WORD_SHIFT) - 1))) {
            text_string(text, option_words[i].word);
            if (option_words[i].largest != 0) {
                text_number(text, value >> WORD_SHIFT, 0);
            }
        }
    }
}

static void complain_about_word(unsigned option, struct slice name, struct slice value)
{
    char buffer[MESSAGE_BYTES];
    struct text line = { .buffer = buffer, .capacity = sizeof buffer - 1 };
    unsigned left = 0;
    invariant(has_words(option));
    for (unsigned i = 0; i < WORDS; i++) {
        left += option_words[i].option == option;
    }
    text_string(&line, "tslab: option ");
    text_part(&line, name.start, name.length);
    text_string(&line, "=");
    text_part(&line, value.start, value.length);
    text_string(&line, " is ignored: it must be ");
    for (unsigned i = 0; i < WORDS; i++) {
        if (option_words[i].option != option) {
            continue;
        }
        text_string(&line, option_words[i].word);
        text_string(&line, option_words[i].number);
        if (option_words[i].largest != 0) {
            text_string(&line, " (");
            text_string(&line, option_words[i].number);
            text_string(&line, " from 1 to ");
            text_number(&line, option_words[i].largest, 0);
            text_string(&line, ")");
        }
        left--;
        text_string(&line, left > 1 ? ", " : left == 1 ? " or " : "");
    }
    text_string(&line, "; it keeps its default ");
    text_word(&line, option, rows[option].fallback);
    invariant(line.length < sizeof buffer);
    buffer[line.length++] = '\n';
    (void)os_write(STDERR_FILENO, buffer, line.length);
}

static void complain_about_limits(struct slice name, struct slice value)
{
    char buffer[MESSAGE_BYTES];
    struct text line = { .buffer = buffer, .capacity = sizeof buffer };
    text_string(&line, "tslab: option ");
    text_part(&line, name.start, name.length);
    text_string(&line, "=");
    text_part(&line, value.start, min_size(value.length, OPTION_PATH_MOST));
    text_string(&line,
                " is ignored: it must be LABEL=BYTES:LABEL=BYTES and so on, for up to 16 labels of 1 to 31 bytes, "
                "with 16K to 1024T for each, and not longer than 255 bytes\n");
    invariant(line.length < sizeof buffer);
    (void)os_write(STDERR_FILENO, buffer, line.length);
}

/* The signals that may ask for statistics. Beside them, those of the real-time range, which have no names. */
enum { REALTIME_FIRST = 34 };
static const struct {
    const char *name;
    int number;
    bool ends;
} asking_signals[] = {
    { "HUP", SIGHUP, true },    { "INT", SIGINT, true },    { "QUIT", SIGQUIT, true },
    { "USR1", SIGUSR1, false }, { "USR2", SIGUSR2, false }, { "TERM", SIGTERM, true },
    { "URG", SIGURG, false },   { "IO", SIGIO, false },     { "WINCH", SIGWINCH, false },
};
enum { SIGNALS = sizeof asking_signals / sizeof asking_signals[0] };

bool option_signal_ends(int number)
{
    bool it_ends = false;
    for (unsigned i = 0; i < SIGNALS; i++) {
        it_ends |= asking_signals[i].number == number && asking_signals[i].ends;
    }
    invariant(!it_ends || number < REALTIME_FIRST);
    return it_ends;
}

/* A name, with or without SIG, or a number. */
static bool parse_signal(struct slice part, uint64_t *number)
{
    const size_t skip = part.length > 3 && strncmp(part.start, "SIG", 3) == 0 ? 3 : 0;
    bool known = slice_number(part, number) && (*number == 0 || *number >= REALTIME_FIRST);
    for (unsigned i = 0; i < SIGNALS; i++) {
        const size_t length = strlen(asking_signals[i].name);
        if (part.length == skip + length && strncmp(part.start + skip, asking_signals[i].name, length) == 0) {
            *number = (uint64_t)asking_signals[i].number;
            return true;
        }
        known |= slice_number(part, number) && *number == (uint64_t)asking_signals[i].number;
    }
    return known;
}

static void text_signal(struct text *text, uint64_t number)
{
    for (unsigned i = 0; i < SIGNALS; i++) {
        if (number == (uint64_t)asking_signals[i].number) {
            text_string(text, asking_signals[i].name);
            return;
        }
    }
    invariant(number == 0 || number >= REALTIME_FIRST);
    text_number(text, number, 0);
}

static bool name_is(struct slice part, const char *name)
{
    for (size_t i = 0; i < part.length; i++) {
        const char c = part.start[i];
        const char lower = c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
        if (name[i] == 0 || lower != name[i]) {
            return false;
        }
    }
    return name[part.length] == 0;
}

/* What a pass over the variables does: the first sets the values, a later one complains. */
enum pass { PASS_SET, PASS_COMPLAIN };

static bool parse_value(unsigned option, struct slice value, uint64_t *number)
{
    if (path_of(option) != NULL || option == OPTION_EPOCH_LIMITS) {
        *number = value.length;
        return value.length <= OPTION_PATH_MOST && (option != OPTION_EPOCH_LIMITS || label_limits_fit(value));
    }
    if (has_words(option)) {
        return parse_word(option, value, number);
    }
    return (option == OPTION_STATS_SIGNAL ? parse_signal : slice_number)(value, number) &&
           *number >= rows[option].smallest && *number <= rows[option].largest;
}

/* False: the option cannot have this value, and keeps what it has. */
static bool set_value(unsigned option, struct slice value)
{
    uint64_t number;
    if (!parse_value(option, value, &number) || (option == OPTION_EPOCH_LIMITS && !label_limits_set(value))) {
        return false;
    }
    invariant(has_words(option) || (number >= rows[option].smallest && number <= rows[option].largest));
    char *const path = path_of(option);
    if (path != NULL) {
        invariant(value.length <= OPTION_PATH_MOST);
        memcpy(path, value.start, value.length);
        path[value.length] = 0;
    }
    store_plain(&option_values[option], number);
    return true;
}

/* `full` is the name as the user wrote it, for messages. `name` is the part of it that names the option. */
static void option_pass(enum pass pass, struct slice full, struct slice name, struct slice value)
{
    unsigned i = 0;
    while (i < OPTION_COUNT && !name_is(name, rows[i].name)) {
        i++;
    }
    uint64_t number;
    if (pass == PASS_SET) {
        (void)(i < OPTION_COUNT && set_value(i, value));
        return;
    }
    if (i < OPTION_COUNT && parse_value(i, value, &number)) {
        return;
    }
    if (i == OPTION_COUNT) {
        complain_about_value(full, value, " is unknown and ignored", NULL);
    } else if (has_words(i)) {
        complain_about_word(i, full, value);
    } else if (path_of(i) != NULL) {
        complain_about_value(full, value, " is ignored: it must be a path of ", &rows[i]);
    } else if (i == OPTION_EPOCH_LIMITS) {
        complain_about_limits(full, value);
    } else if (i == OPTION_STATS_SIGNAL) {
        complain_about_value(full, value, " is ignored: it must be USR2, TERM or another such signal, from ", &rows[i]);
    } else {
        complain_about_value(full, value, " is ignored: it must be a number from ", &rows[i]);
    }
}

static void option_pass_list(enum pass pass, struct slice list)
{
    while (list.length > 0) {
        struct slice value = slice_cut(&list, ',');
        if (value.length > 0) {
            const struct slice name = slice_cut(&value, '=');
            option_pass(pass, name, name, value);
        }
    }
}

static void pass_all(enum pass pass, char *const *variables)
{
    static const char prefix[] = "TSLAB_";
    if (os_is_privileged()) {
        return;
    }
    for (; *variables != NULL; variables++) {
        if (strncmp(*variables, prefix, sizeof prefix - 1) != 0) {
            continue;
        }
        struct slice value = { *variables, strlen(*variables) };
        const struct slice full = slice_cut(&value, '=');
        const struct slice name = { full.start + sizeof prefix - 1, full.length - (sizeof prefix - 1) };
        if (name_is(name, "options")) {
            option_pass_list(pass, value);
        } else {
            option_pass(pass, full, name, value);
        }
    }
}

void option_load(char *const *variables)
{
    pass_all(PASS_SET, variables);
}

void option_complain(char *const *variables)
{
    pass_all(PASS_COMPLAIN, variables);
}

void option_tell(struct text *text, enum option option, uint64_t value)
{
    invariant(option < OPTION_COUNT);
    if (path_of(option) != NULL) {
        text_foreign(text, path_of(option));
    } else if (option == OPTION_EPOCH_LIMITS) {
        label_limits_tell(text);
    } else if (option == OPTION_STATS_SIGNAL) {
        text_signal(text, value);
    } else if (has_words(option)) {
        text_word(text, option, value);
    } else {
        text_number(text, value, 0);
    }
}

enum option option_named(const char *name)
{
    const struct slice part = { name, strlen(name) };
    unsigned i = 0;
    while (i < OPTION_COUNT && !name_is(part, rows[i].name)) {
        i++;
    }
    return (enum option)i;
}

bool option_may_change(enum option option)
{
    invariant(option < OPTION_COUNT);
    switch (option) {
    case OPTION_ARENA_BYTES:
    case OPTION_HUGE_PAGES:
    case OPTION_EXPORT:
    case OPTION_KEEPER:
    case OPTION_MAGAZINES:
    case OPTION_STATS_FILE:
    case OPTION_STATS_SIGNAL:
    case OPTION_TRACE:
    case OPTION_TRACE_BYTES:
    case OPTION_PROFILE_FILE:
        return false;
    default:
        return true;
    }
}

bool option_set(enum option option, const char *value)
{
    invariant(option_may_change(option) && path_of(option) == NULL);
    return set_value(option, (struct slice){ value, strlen(value) });
}

unsigned option_describe_changed(struct text *text)
{
    enum { LINE_COLUMNS = 80 };
    unsigned changed = 0;
    size_t line = text->length;
    for (unsigned i = 0; i < OPTION_COUNT; i++) {
        if (option_get(i) == rows[i].fallback) {
            continue;
        }
        char buffer[MESSAGE_BYTES];
        struct text one = { .buffer = buffer, .capacity = sizeof buffer };
        text_string(&one, rows[i].name);
        text_string(&one, "=");
        option_tell(&one, i, option_get(i));
        invariant(one.length > strlen(rows[i].name) + 1 && one.length < sizeof buffer);
        if (changed != 0 && text->length - line + 2 + one.length > LINE_COLUMNS) {
            text_string(text, "\n");
            line = text->length;
        }
        text_string(text, "  ");
        text_part(text, one.buffer, one.length);
        changed++;
    }
    invariant(changed <= OPTION_COUNT);
    text_string(text, changed != 0 ? "\n" : "");
    return changed;
}
