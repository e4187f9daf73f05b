/* Parses the environment twice with the same code: silently at the start, when values are set, and later to complain on
 * stderr. */
#include "common/option.h"

#include "common/quota.h"
#include "common/slice.h"
#include "os/given.h"
#include "os/os.h"
#include "os/text.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#define OPTION_PREFIX "TSLAB_"

static const struct option_row {
    const char *name; /* as in TSLAB_OPTIONS; the variable TSLAB_<NAME> has it in capitals */
    uint64_t fallback, smallest, largest;
    const char *values, *doc;
    enum option_kind kind;
    enum option_when when;
} rows[OPTION_COUNT] = {
#define OPTION_ROW(constant, name, kind, fallback, smallest, largest, values, when, doc)                               \
    { #name, (fallback), (smallest), (largest), (values), (doc), (kind), (when) },
    OPTION_TABLE(OPTION_ROW)
};

#define OPTION_DEFAULT(constant, name, kind, fallback, ...) (fallback),
_Alignas(CACHE_LINE) atomic_u64 option_values[OPTION_ROOM] = { OPTION_TABLE(OPTION_DEFAULT) };

/* A path is written once while the program runs, by the thread that has taken its state from NONE to TAKEN. */
enum { PATH_NONE, PATH_TAKEN, PATH_SET };
static char option_paths[OPTION_COUNT][OPTION_PATH_MOST + 1];
static atomic_u32 path_states[OPTION_COUNT];

const char *option_path(enum option option)
{
    invariant(option < OPTION_COUNT && rows[option].kind >= KIND_REPORT);
    return load_acquire(&path_states[option]) == PATH_SET ? option_paths[option] : "";
}

/* A parsed value. Most kinds have no path. */
struct option_value {
    uint64_t number;
    struct slice path;
};

static bool parse_number(const struct option_row *row, struct slice text, struct option_value *value)
{
    invariant(row->smallest <= row->largest);
    return slice_number(text, &value->number) && value->number >= row->smallest && value->number <= row->largest;
}

static void tell_number(struct text *text, enum option option, uint64_t number)
{
    const char *const path = rows[option].kind == KIND_REPORT ? option_path(option) : "";
    invariant(strlen(path) <= OPTION_PATH_MOST);
    text_number(text, number);
    text_string(text, path[0] != 0 ? "," : "");
    text_foreign(text, path);
}

/* The next of a row's choices, and how much of it stands for itself: capitals stand for a number. */
static struct slice cut_choice(struct slice *choices, size_t *fixed)
{
    struct slice choice = slice_cut(choices, ',');
    while (choice.length > 0 && *choice.start == ' ') {
        choice.start++;
        choice.length--;
    }
    *fixed = 0;
    while (*fixed < choice.length && (choice.start[*fixed] < 'A' || choice.start[*fixed] > 'Z')) {
        ++*fixed;
    }
    invariant(*fixed > 0);
    return choice;
}

static bool parse_choice(const struct option_row *row, struct slice text, struct option_value *value)
{
    struct slice choices = { row->values, strlen(row->values) };
    size_t fixed;
    for (uint64_t i = 0; choices.length > 0; i++) {
        const struct slice choice = cut_choice(&choices, &fixed);
        if (text.length < fixed || memcmp(text.start, choice.start, fixed) != 0) {
            continue;
        }
        const struct slice rest = { text.start + fixed, text.length - fixed };
        uint64_t number = 0;
        if (fixed == choice.length ? rest.length == 0
                                   : slice_number(rest, &number) && number >= 1 && number <= row->largest) {
            invariant(i < 1 << CHOICE_SHIFT);
            value->number = number << CHOICE_SHIFT | i;
            return true;
        }
    }
    return false;
}

static void tell_choice(struct text *text, enum option option, uint64_t number)
{
    struct slice choices = { rows[option].values, strlen(rows[option].values) };
    size_t fixed;
    struct slice choice = cut_choice(&choices, &fixed);
    invariant(rows[option].kind == KIND_CHOICE);
    for (unsigned i = option_choice_of(number); i > 0; i--) {
        invariant(choices.length > 0);
        choice = cut_choice(&choices, &fixed);
    }
    text_part(text, choice.start, fixed);
    if (fixed < choice.length) {
        text_number(text, option_number_of(number));
    }
}

/* The signals that may ask for statistics. Beside them, those of the real-time range, which have no names. */
enum { REALTIME_FIRST = 34 };
static const struct {
    const char *name;
    int number;
} asking_signals[] = {
    { "USR1", SIGUSR1 }, { "USR2", SIGUSR2 }, { "URG", SIGURG }, { "IO", SIGIO }, { "WINCH", SIGWINCH },
};
enum { SIGNALS = sizeof asking_signals / sizeof asking_signals[0] };

/* A name, with or without SIG, or a number. */
static bool parse_signal(const struct option_row *row, struct slice text, struct option_value *value)
{
    const size_t skip = text.length > 3 && strncmp(text.start, "SIG", 3) == 0 ? 3 : 0;
    const bool is_number = parse_number(row, text, value);
    for (unsigned i = 0; i < SIGNALS; i++) {
        const char *const name = asking_signals[i].name;
        if ((is_number && value->number == (uint64_t)asking_signals[i].number) ||
            (text.length - skip == strlen(name) && memcmp(text.start + skip, name, strlen(name)) == 0)) {
            value->number = (uint64_t)asking_signals[i].number;
            return true;
        }
    }
    return is_number && (value->number == 0 || value->number >= REALTIME_FIRST);
}

static void tell_signal(struct text *text, enum option option, uint64_t number)
{
    for (unsigned i = 0; i < SIGNALS; i++) {
        if (number == (uint64_t)asking_signals[i].number) {
            text_string(text, asking_signals[i].name);
            return;
        }
    }
    invariant(number == 0 || number >= REALTIME_FIRST);
    tell_number(text, option, number);
}

static bool parse_limits(const struct option_row *row, struct slice text, struct option_value *value)
{
    value->number = text.length;
    return text.length <= row->largest && label_limits_fit(text);
}

static void tell_limits(struct text *text, enum option option, uint64_t number)
{
    (void)option;
    (void)number;
    label_limits_tell(text);
}

static bool parse_report(const struct option_row *row, struct slice text, struct option_value *value)
{
    const bool is_number = parse_number(row, slice_cut(&text, ','), value);
    value->path = text;
    return is_number;
}

static bool parse_path(const struct option_row *row, struct slice text, struct option_value *value)
{
    value->number = text.length;
    value->path = text;
    return text.length <= row->largest;
}

static void tell_path(struct text *text, enum option option, uint64_t number)
{
    (void)number;
    text_foreign(text, option_path(option));
}

static const struct {
    bool (*parse)(const struct option_row *row, struct slice text, struct option_value *value);
    void (*tell)(struct text *text, enum option option, uint64_t number);
    const char *problem;
} option_kinds[] = {
    [KIND_NUMBER] = { parse_number, tell_number, "not a number like 64 or 64M in its range" },
    [KIND_CHOICE] = { parse_choice, tell_choice, "unknown value" },
    [KIND_SIGNAL] = { parse_signal, tell_signal, "not a usable signal" },
    [KIND_LIMITS] = { parse_limits, tell_limits, "not a list of limits" },
    [KIND_REPORT] = { parse_report, tell_number, "not a number, and a file" },
    [KIND_PATH] = { parse_path, tell_path, "too long" },
};

static bool parse_value(enum option option, struct slice text, struct option_value *value)
{
    *value = (struct option_value){ .path = { text.start, 0 } };
    return option_kinds[rows[option].kind].parse(&rows[option], text, value) && value->path.length <= OPTION_PATH_MOST;
}

/* False: the option has another file. Other threads may read the path after the start. */
static bool set_path(enum option option, struct slice file, bool starts)
{
    uint32_t state = PATH_NONE;
    invariant(file.length <= OPTION_PATH_MOST && rows[option].kind >= KIND_REPORT);
    if (starts || (file.length > 0 && cas_acquire(&path_states[option], &state, PATH_TAKEN))) {
        memcpy(option_paths[option], file.start, file.length);
        option_paths[option][file.length] = 0;
        store_release(&path_states[option], file.length > 0 ? PATH_SET : PATH_NONE);
        return true;
    }
    const char *const path = option_path(option);
    return file.length == 0 || (strlen(path) == file.length && memcmp(path, file.start, file.length) == 0);
}

/* False: the option cannot have this value, and keeps what it has. */
static bool set_value(enum option option, struct slice text, bool starts)
{
    struct option_value value;
    if (!parse_value(option, text, &value)) {
        return false;
    }
    invariant(value.path.length == 0 || rows[option].kind >= KIND_REPORT);
    if (rows[option].kind >= KIND_REPORT && !set_path(option, value.path, starts)) {
        return false;
    }
    if (option == OPTION_EPOCH_LIMITS && !label_limits_set(text)) {
        return false;
    }
    store_plain(&option_values[option], value.number);
    return true;
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

static enum option find(struct slice name)
{
    unsigned i = 0;
    while (i < OPTION_COUNT && !name_is(name, rows[i].name)) {
        i++;
    }
    return (enum option)i;
}

static void text_values(struct text *text, const struct option_row *row)
{
    if (row->kind == KIND_NUMBER) {
        /* Not by strcmp: that of ThreadSanitizer may not have started. */
        const bool scaled = strlen(row->values) == strlen("bytes") && row->values[0] == 'b';
        scaled ? text_scaled(text, row->smallest) : text_number(text, row->smallest);
        text_string(text, " to ");
        scaled ? text_scaled(text, row->largest) : text_number(text, row->largest);
        text_string(text, row->values[0] != 0 ? " " : "");
    }
    text_string(text, row->values);
}

static void text_unknown(struct text *text)
{
    text_string(text, ": unknown option (known: ");
    for (unsigned i = 0; i < OPTION_COUNT && rows[i].when != FOR_TESTS; i++) {
        text_string(text, i == 0 ? "" : ", ");
        text_string(text, rows[i].name);
    }
}

/* Foreign text, cut to a length. */
static void text_slice(struct text *text, struct slice part, size_t most)
{
    text_foreign_part(text, part.start, min_size(part.length, most));
}

/* `full` is the name as the user wrote it, `name` the part of it that names the option. */
enum { MESSAGE_BYTES = 512, NAME_SHOWN = 64 };
static void text_problem(struct text *line, struct slice full, struct slice name, struct slice value)
{
    const enum option option = find(name);
    invariant(name.length <= full.length);
    text_slice(line, full, NAME_SHOWN);
    if (option == OPTION_COUNT) {
        text_unknown(line);
    } else {
        text_string(line, "=");
        text_slice(line, value, OPTION_PATH_MOST);
        struct option_value parsed;
        invariant(!parse_value(option, value, &parsed));
        text_string(line, ": ");
        text_string(line, option_kinds[rows[option].kind].problem);
        text_string(line, " (");
        text_values(line, &rows[option]);
    }
    text_string(line, ")");
}

void option_explain(struct text *text, const char *name, const char *value)
{
    const struct slice named = { name, strlen(name) };
    const struct slice wanted = { value, strlen(value) };
    const enum option option = find(named);
    struct option_value parsed;
    if (option == OPTION_COUNT || !parse_value(option, wanted, &parsed)) {
        text_problem(text, named, named, wanted);
        return;
    }
    text_string(text, rows[option].name);
    if (rows[option].when != ANY_TIME) {
        text_string(text, ": is read when the program starts");
    } else {
        text_string(text, rows[option].kind >= KIND_REPORT ? ": its file stays " : ": there is no memory for it");
        text_foreign(text, rows[option].kind >= KIND_REPORT ? option_path(option) : "");
    }
}

static void complain_about(struct slice full, struct slice name, struct slice value)
{
    char buffer[MESSAGE_BYTES];
    struct text line = { .buffer = buffer, .capacity = sizeof buffer };
    text_string(&line, "tslab: ");
    text_problem(&line, full, name, value);
    text_string(&line, "; ignored\n");
    invariant(line.length < sizeof buffer);
    (void)os_write(STDERR_FILENO, buffer, line.length);
}

/* The first pass over the environment sets the values, a later one complains. */
static void option_pass(bool complains, struct slice full, struct slice name, struct slice text)
{
    const enum option option = find(name);
    struct option_value value;
    const bool is_right = option < OPTION_COUNT && parse_value(option, text, &value);
    if (is_right && !complains) {
        (void)set_value(option, text, true);
    } else if (!is_right && complains) {
        complain_about(full, name, text);
    }
}

/* The next name=value, with what belongs to its value. */
static struct slice cut_setting(struct slice *list)
{
    struct slice setting = slice_cut(list, ',');
    struct slice rest = *list;
    struct slice next = slice_cut(&rest, ',');
    while (setting.length > 0 && next.length > 0 && memchr(next.start, '=', next.length) == NULL) {
        setting.length = (size_t)(next.start + next.length - setting.start);
        *list = rest;
        next = slice_cut(&rest, ',');
    }
    return setting;
}

static void option_pass_list(bool complains, struct slice list)
{
    while (list.length > 0) {
        struct slice value = cut_setting(&list);
        if (value.length > 0) {
            const struct slice name = slice_cut(&value, '=');
            option_pass(complains, name, name, value);
        }
    }
}

static void pass_environment(bool complains, char *const *variables)
{
    invariant(variables != NULL);
    /* The environment of a process that has more rights than its user is not trusted. */
    for (; os_given(OS_GIVEN_SECURE) == 0 && *variables != NULL; variables++) {
        if (strncmp(*variables, OPTION_PREFIX, sizeof OPTION_PREFIX - 1) != 0) {
            continue;
        }
        struct slice value = { *variables, strlen(*variables) };
        const struct slice full = slice_cut(&value, '=');
        const struct slice name = { full.start + sizeof OPTION_PREFIX - 1, full.length - (sizeof OPTION_PREFIX - 1) };
        invariant(full.length >= sizeof OPTION_PREFIX - 1);
        if (name_is(name, "options")) {
            option_pass_list(complains, value);
        } else {
            option_pass(complains, full, name, value);
        }
    }
}

void option_load(char *const *variables)
{
    pass_environment(false, variables);
}

void option_complain(char *const *variables)
{
    pass_environment(true, variables);
}

const char *option_name(enum option option)
{
    invariant(option < OPTION_COUNT);
    return rows[option].name;
}

void option_tell(struct text *text, enum option option, uint64_t value)
{
    invariant(option < OPTION_COUNT);
    option_kinds[rows[option].kind].tell(text, option, value);
}

enum option option_named(const char *name)
{
    return find((struct slice){ name, strlen(name) });
}

bool option_may_change(enum option option)
{
    invariant(option < OPTION_COUNT);
    return rows[option].when == ANY_TIME;
}

bool option_set(enum option option, const char *value)
{
    invariant(option_may_change(option));
    return set_value(option, (struct slice){ value, strlen(value) }, false);
}

bool option_is_changed(enum option option)
{
    return option_get(option) != rows[option].fallback || load_plain(&path_states[option]) == PATH_SET;
}
