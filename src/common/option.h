/* Run-time options: one table, from which the parser, its messages, the help, and the pages of the manual are made
 * (tools/options.py).
 *
 * Options are read once, from the environment, which has each in TSLAB_<NAME>, or several in TSLAB_OPTIONS as
 * "name=value,name=value". Text between two commas that has no "=" belongs to the value before it. Unknown or
 * out-of-range options are reported once on stderr and ignored. A process that has more rights than its user reads
 * none. Some may be set later (option_set). Each value is one word, and a thread that reads it takes it as it is then.
 *
 * Threads: option_load before other threads run, all else from any. */
#ifndef TSLAB_COMMON_OPTION_H
#define TSLAB_COMMON_OPTION_H

#include "base/atomic.h"
#include "base/limits.h"
#include "common/guard.h"
#include "os/fatal.h"

#include <stdbool.h>
#include <stdint.h>

struct text;

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)
#define TIB ((uint64_t)1 << 40)

/* How an option's value is written, and what its number then is. KIND_NUMBER: a number in the unit that `values` names.
 * KIND_CHOICE: one of `values`, by its place. The number that stands for the capital letters is above it. The others
 * are as `values` says: KIND_REPORT is a number and a file, KIND_PATH a path, whose number is its length, as that of
 * KIND_LIMITS is, for the limits are in quota.h. */
enum option_kind { KIND_NUMBER, KIND_CHOICE, KIND_SIGNAL, KIND_LIMITS, KIND_REPORT, KIND_PATH };

enum { OPTION_PATH_MOST = 255 };

/* When an option is set. FOR_TESTS: at the start, by tests and measurements. Users need not know it. */
enum option_when { ANY_TIME, AT_START, FOR_TESTS };

/* X(CONSTANT, name, kind, default, smallest, largest, values, when, what it does) */
#define OPTION_TABLE(X)                                                                                                \
    X(LIMIT_BYTES, limit_bytes, KIND_NUMBER, 0, 0, 1024 * TIB, "bytes", ANY_TIME,                                      \
      "the memory that the program may use: an allocation beyond it fails; 0: no limit")                               \
    X(SOFT_LIMIT_BYTES, soft_limit_bytes, KIND_NUMBER, 0, 0, 1024 * TIB, "bytes", ANY_TIME,                            \
      "above it, the library keeps no free memory for reuse, and its caches are small; 0: no limit")                   \
    X(EPOCH_LIMITS, epoch_limits, KIND_LIMITS, 0, 0, 255,                                                              \
      "LABEL=BYTES:LABEL=BYTES, up to 16 labels of 1 to 31 bytes, 16K to 1024T each, 255 bytes in all", ANY_TIME,      \
      "the memory that all epochs with a label may use together")                                                      \
    X(EPOCH_POLICY, epoch_policy, KIND_CHOICE, WORK_NEVER, 0, 86400000,                                                \
      "never, per-request, batch-N, interval-MS, manual", ANY_TIME,                                                    \
      "when the epoch of a thread's units of work ends, and whether it has one")                                       \
    X(PURGE, purge, KIND_CHOICE, PURGE_ADAPTIVE, 0, 0, "adaptive, eager, never", ANY_TIME,                             \
      "when free memory goes back to the system")                                                                      \
    X(PURGE_DELAY_MS, purge_delay_ms, KIND_NUMBER, 500, 0, 3600000, "ms", ANY_TIME,                                    \
      "how long free memory waits for reuse before its pages go back to the system")                                   \
    X(RETAIN_BYTES, retain_bytes, KIND_NUMBER, 512 * KIB, 0, TIB, "bytes", ANY_TIME,                                   \
      "free memory that may wait for reuse in any case; more may where the program took as much lately")               \
    X(RETAIN_LIMIT_BYTES, retain_limit_bytes, KIND_NUMBER, TIB, 0, TIB, "bytes", ANY_TIME,                             \
      "the most free memory that may wait for reuse, whatever the program does")                                       \
    X(KEEPER, keeper, KIND_NUMBER, 1, 0, 2, "", AT_START,                                                              \
      "a thread of the library gives memory back while the program is idle: 0 never, 1 when a program on the drop-in " \
      "has two threads or more (the only thread gives back while it sleeps), 2 always")                                \
    X(CACHE_BYTES, cache_bytes, KIND_NUMBER, 0, 0, TIB, "bytes", ANY_TIME,                                             \
      "limit on all thread caches together; 0: 128 MiB, or an eighth of the memory in use if that is more")            \
    X(HUGE_PAGES, huge_pages, KIND_CHOICE, HUGE_PAGES_ADAPTIVE, 0, 0, "adaptive, always, never", AT_START,             \
      "which memory may have huge pages; adaptive: where a large program grows")                                       \
    X(STATS, stats, KIND_REPORT, 0, 0, 2, "FORM[,FILE], FORM 0 to 2, FILE up to 255 bytes", ANY_TIME,                  \
      "statistics at exit (0: none, 1: a summary, 2: JSON), "                                                          \
      "on stderr or in FILE, where %p is the process, %e the program, %n a count")                                     \
    X(STATS_SIGNAL, stats_signal, KIND_SIGNAL, 0, 0, 64, "USR1 USR2 URG IO WINCH, or 34-64", AT_START,                 \
      "signal that triggers a report; 0: none")                                                                        \
    X(PROFILE, profile, KIND_REPORT, 0, 0, TIB, "BYTES[,FILE], BYTES 0 to 1T, FILE up to 255 bytes", ANY_TIME,         \
      "heap profiler: mean bytes between samples, such as 512K, and the file that gets the "                           \
      "profile at exit and with each report; 0: off")                                                                  \
    X(EXPORT, export, KIND_NUMBER, 0, 0, 1, "", AT_START,                                                              \
      "1: processes of the same user can read live statistics (tslab top)")                                            \
    X(BLACKBOX, blackbox, KIND_PATH, 0, 0, 255, "DIR, up to 255 bytes", AT_START,                                      \
      "directory that gets a file near a memory limit, which says what has the memory (tslab doctor FILE)")            \
    X(MAGAZINES, magazines, KIND_NUMBER, !GUARDED, 0, !GUARDED, "", FOR_TESTS, "0 turns the thread caches off")        \
    X(ARENA_BYTES, arena_bytes, KIND_NUMBER, 16 * TIB, 4 * MIB, 16 * TIB, "bytes", FOR_TESTS,                          \
      "addresses that objects may have: an allocation that does not fit fails")

#define OPTION_CONSTANT(constant, ...) OPTION_##constant,
enum option { OPTION_TABLE(OPTION_CONSTANT) OPTION_COUNT };

/* The values. All threads read them on slow paths, so no other variable shares their cache lines. */
enum { OPTION_ROOM = (OPTION_COUNT + 7) / 8 * 8 };
extern _Alignas(CACHE_LINE) atomic_u64 option_values[OPTION_ROOM];

static inline uint64_t option_get(enum option option)
{
    invariant(option < OPTION_COUNT);
    return load_plain(&option_values[option]);
}

/* The value of some options is a choice, and for some choices a number: batch-64 is WORK_BATCH and 64. */
enum work_policy { WORK_NEVER, WORK_PER_REQUEST, WORK_BATCH, WORK_INTERVAL, WORK_MANUAL };
enum purge_policy { PURGE_ADAPTIVE, PURGE_EAGER, PURGE_NEVER };
enum huge_pages { HUGE_PAGES_ADAPTIVE, HUGE_PAGES_ALWAYS, HUGE_PAGES_NEVER };
enum { CHOICE_SHIFT = 3 };

/* Without a form, statistics are written only when a signal asks for them. */
enum stats_form { STATS_NONE, STATS_SUMMARY, STATS_JSON };

static inline unsigned option_choice_of(uint64_t value)
{
    return (unsigned)(value & ((1 << CHOICE_SHIFT) - 1));
}

static inline uint64_t option_number_of(uint64_t value)
{
    return value >> CHOICE_SHIFT;
}

static inline unsigned option_choice(enum option option)
{
    return option_choice_of(option_get(option));
}

/* The path that an option's value names, or an empty string: of stats, profile and blackbox. A report that has none may
 * get one while the program runs, and keeps it. */
const char *option_path(enum option option);

/* Sets the options from the variables of an environment. Ignores what is wrong, silently. */
void option_load(char *const *variables);

/* Reports what was wrong on stderr. That may block, so call it without a lock. */
void option_complain(char *const *variables);

/* The option of this name. OPTION_COUNT: there is none. */
enum option option_named(const char *name);

/* Whether an option may change while the program runs. The others are read when the library starts. */
bool option_may_change(enum option option);

/* Sets an option that may change. False: it cannot have this value, or it has another file. epoch_limits inside of a
 * gate. */
bool option_set(enum option option, const char *value);

/* Appends why there is no option of this name, or why it cannot have this value. */
void option_explain(struct text *text, const char *name, const char *value);

const char *option_name(enum option option);

/* Appends the value of an option as option_set takes it: at most OPTION_TEXT_BYTES - 1 bytes. */
enum { OPTION_TEXT_BYTES = 288 };
void option_tell(struct text *text, enum option option, uint64_t value);

/* Whether an option has not its default. */
bool option_is_changed(enum option option);

#endif
