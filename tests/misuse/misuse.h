/* Runs cases, each in a process of its own, and compares how they end with what each says. A case
 * calls misused(p) just before the call that must end it: the line on stderr must name that pointer, to its last
 * digit. */
#ifndef MISUSE_H
#define MISUSE_H

#include "child.h"

/* How a case may end. */
enum {
    COMPLETES = 1 << 0, /* having checked itself what the misuse did; the library says nothing */
    FAULTS = 1 << 1,
    /* By a line of the library, and abort. */
    DOUBLE = 1 << 2,
    DOUBLE_OR_WILD = 1 << 3,
    FOREIGN = 1 << 4,
    INTERIOR = 1 << 5,
    BEYOND_THE_END = 1 << 6,
    WRITTEN_AFTER_FREE = 1 << 7,
};

static const struct {
    unsigned end;
    const char *text;
} misuse_lines[] = {
    { DOUBLE, "double free of" },
    { DOUBLE_OR_WILD, "double or wild free of" },
    { FOREIGN, "free of a foreign pointer" },
    { INTERIOR, "free of an interior pointer" },
    { BEYOND_THE_END, "write beyond the end of" },
    { WRITTEN_AFTER_FREE, "write after free into" },
};

struct misuse {
    const char *name;
    void (*body)(void);
    unsigned release, checked; /* the ends that are allowed, without checks and with them; 0: not tried */
    size_t size;               /* asked for where the pointer lies; 0: the line need not say it */
    unsigned in_epochs;        /* the ends that are allowed where the place is an epoch; 0: not tried */
    const char *script;        /* where there is no body, */
    ptrdiff_t offset;          /* and how far in it the pointer is beyond the object's start */
};
/* MISUSE(name, ends without checks, ends with them) { ... }; SCRIPT(name, ...); */
#define MISUSE_CASE(name, ...)                                                                                         \
    static const struct misuse name##_case = { #name, __VA_ARGS__ };                                                   \
    LISTED(name, misuse_test, &name##_case)
#define MISUSE_OF(size, name, release, checked)                                                                        \
    static void name(void);                                                                                            \
    MISUSE_CASE(name, name, release, checked, size, 0, NULL, 0)                                                        \
    static void name(void)
#define MISUSE_IN_EPOCHS(name, ends)                                                                                   \
    static void name(void);                                                                                            \
    MISUSE_CASE(name, name, 0, 0, 0, ends, NULL, 0)                                                                    \
    static void name(void)
#define SCRIPT(name, size, offset, script, release, checked, in_epochs)                                                \
    MISUSE_CASE(name, NULL, release, checked, size, in_epochs, script, offset)                                         \
    static const struct misuse name##_case
#define MISUSE(name, release, checked) MISUSE_OF(0, name, release, checked)

/* The state in which a case begins. */
struct misuse_place {
    const char *name;
    void (*begin)(void);
    bool in_epoch;
    bool late; /* without checks, misuse may be seen only some time after the call */
};

struct misuse_table {
    void (*follow)(const struct misuse *misuse); /* does what a script says */
    const struct misuse_place *places;
    size_t place_count;
    const char *label;              /* of the epoch that a line may name */
    size_t (*usable)(size_t asked); /* the bytes that a line must say; NULL: it says those asked for */
};

struct misuse_attempt {
    const struct misuse *misuse;
    const struct misuse_place *place;
};

static const struct misuse_table *misuse_table;
/* Where the parent reads which pointer the case misuses, and whether it survived that. */
static int told_end;

static inline void misused(const void *p)
{
    CHECK(write(told_end, &p, sizeof p) == (ssize_t)sizeof p);
}

/* The call was made, and did not end the case. */
static inline void misuse_survived(void)
{
    misused(NULL);
}

static inline void misuse_body(const void *argument)
{
    const struct misuse_attempt *const attempt = (const struct misuse_attempt *)argument;
    alarm(HANG_SECONDS);
    attempt->place->begin();
    if (attempt->misuse->body != NULL) {
        attempt->misuse->body();
    } else {
        misuse_table->follow(attempt->misuse);
    }
}

static inline bool misuse_said(const struct child *child, const struct misuse_attempt *attempt, unsigned end,
                               const char *line, const void *p)
{
    const struct misuse *const misuse = attempt->misuse;
    if (attempt->place->in_epoch || (misuse_table->usable == NULL && misuse->size == 0)) {
        return child_said_of(child, line, p, misuse_table->label);
    }
    char about[64] = "";
    if (end == FOREIGN) {
        snprintf(about, sizeof about, " (of another malloc, or of none)");
    } else if (misuse->size != 0 && end != DOUBLE_OR_WILD) { /* whose object is gone */
        snprintf(about, sizeof about, " (%zu bytes)",
                 misuse_table->usable == NULL ? misuse->size : misuse_table->usable(misuse->size));
    }
    return child_said(child, line, p, about);
}

static inline bool misuse_ended_by(const struct child *child, const struct misuse_attempt *attempt, unsigned allowed,
                                   const void *p)
{
    for (size_t i = 0; i < COUNT_OF(misuse_lines); i++) {
        const unsigned end = misuse_lines[i].end;
        if ((allowed & end) != 0 && misuse_said(child, attempt, end, misuse_lines[i].text, p)) {
            return child_aborted(child);
        }
    }
    return false;
}

static inline void misuse_check(const struct misuse *misuse, const struct misuse_place *place)
{
    const struct misuse_attempt attempt = { misuse, place };
    const unsigned allowed = place->in_epoch ? misuse->in_epochs : TSLAB_CHECKED ? misuse->checked : misuse->release;
    int ends[2];
    if (allowed == 0) {
        return;
    }
    assert_int_equal(pipe(ends), 0);
    told_end = ends[1];
    const struct child child = child_run(misuse_body, &attempt);
    close(ends[1]);
    const void *told[2] = { NULL, NULL };
    const ssize_t length = read(ends[0], told, sizeof told);
    close(ends[0]);
    if (allowed == COMPLETES || allowed == FAULTS) {
        assert_string_equal(child.said, "");
        assert_true(allowed == COMPLETES ? child.status == 0
                                         : WIFSIGNALED(child.status) && WTERMSIG(child.status) == SIGSEGV);
        return;
    }
    if (length < (ssize_t)sizeof told[0] || !misuse_ended_by(&child, &attempt, allowed, told[0])) {
        fail_msg("%s, %p (of %zd bytes told), status %#x: \"%s\"", place->name, told[0], length, child.status,
                 child.said);
    }
    if (!place->late || TSLAB_CHECKED) {
        assert_int_equal(length, sizeof told[0]); /* at the very call */
    }
}

static inline void misuse_test(void **state)
{
    for (size_t i = 0; i < misuse_table->place_count; i++) {
        misuse_check(*state, &misuse_table->places[i]);
    }
}

/* Runs all cases, or those that a pattern on the command line names. */
static inline int misuse_run(const struct misuse_table *table, int argc, char **argv)
{
    misuse_table = table;
    return tests_main(argc, argv);
}

#endif
