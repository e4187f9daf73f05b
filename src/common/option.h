/* Run-time options: one table gives the names, units, defaults, ranges, documentation, parser and help.
 *
 * Options are read once from the environment: each from TSLAB_<NAME>, or several from
 * TSLAB_OPTIONS="name=value,name=value". Unknown or out-of-range options are reported once on stderr and ignored. A
 * process that has more rights than its user reads none. Later the program may set some of them (option_set): each
 * value is one word, and whoever reads it takes it as it is then.
 *
 * Threads: option_load before other threads run; all else from any. */
#ifndef TSLAB_COMMON_OPTION_H
#define TSLAB_COMMON_OPTION_H

#include "base/atomic.h"
#include "base/limits.h"
#include "common/guard.h"
#include "os/fatal.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text;

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)
#define TIB ((uint64_t)1 << 40)

/* The value of an option that is a path is how long it is; these have the paths. That of epoch_limits is, too; the
 * limits are in quota.h. */
enum { OPTION_PATH_MOST = 255 };
extern char option_path[OPTION_PATH_MOST + 1];         /* stats_file */
extern char option_trace_path[OPTION_PATH_MOST + 1];   /* trace */
extern char option_profile_path[OPTION_PATH_MOST + 1]; /* profile_file */

/* X(CONSTANT, name, default, smallest, largest, unit, what it does) */
#define OPTION_TABLE(X)                                                                                                \
    X(ARENA_BYTES, arena_bytes, 16 * TIB, 4 * MIB, 16 * TIB, "bytes",                                                  \
      "addresses that objects may have: what does not fit is refused")                                                 \
    X(RETAIN_BYTES, retain_bytes, 512 * KIB, 0, TIB, "bytes",                                                          \
      "empty memory that may always wait for reuse; beyond it, what shows no sign of reuse goes back at once")         \
    X(PURGE_DELAY_MS, purge_delay_ms, 500, 0, 3600000, "ms",                                                           \
      "how long empty memory waits for reuse before its pages go back to the system")                                  \
    X(RETAIN_LIMIT_BYTES, retain_limit_bytes, TIB, 0, TIB, "bytes",                                                    \
      "empty memory that may wait for reuse whatever the library learns")                                              \
    X(LIMIT_BYTES, limit_bytes, 0, 0, 1024 * TIB, "bytes",                                                             \
      "memory that the program may use: what exceeds it is refused; 0: no limit")                                      \
    X(SOFT_LIMIT_BYTES, soft_limit_bytes, 0, 0, 1024 * TIB, "bytes",                                                   \
      "above it, no empty memory waits for reuse and caches are small; 0: no limit")                                   \
    X(EPOCH_LIMITS, epoch_limits, 0, 0, 255, "bytes",                                                                  \
      "LABEL=BYTES:LABEL=BYTES and so on: the memory that all epochs with a label may use together")                   \
    X(PURGE, purge, PURGE_ADAPTIVE, 0, 0, "",                                                                          \
      "when empty memory goes back to the system: adaptive, delayed, eager, lazy, never")                              \
    X(HUGE_PAGES, huge_pages, HUGE_PAGES_ADAPTIVE, 0, 0, "",                                                           \
      "where memory may have huge pages: adaptive (where a large program grows), always, never")                       \
    X(KEEPER, keeper, 1, 0, 2, "",                                                                                     \
      "a thread of the library's own gives memory back while the program is idle: 0 never, 1 beside two threads of "   \
      "the program or more, 2 always")                                                                                 \
    X(CACHE_BYTES, cache_bytes, 0, 0, TIB, "bytes",                                                                    \
      "what the caches of all threads may hold together; 0: 64 MiB, or an eighth of the memory in use if that is "     \
      "more")                                                                                                          \
    X(MAGAZINES, magazines, !GUARDED, 0, !GUARDED, "", "0 turns the thread caches off, as a baseline for comparisons") \
    X(STATS, stats, 0, 0, 2, "", "statistics when the program exits: 1 a summary, 2 JSON")                             \
    X(STATS_FILE, stats_file, 0, 0, 255, "bytes",                                                                      \
      "the path of the file that statistics go to, instead of stderr: %p is the process, %e the program, %n a count")  \
    X(STATS_SIGNAL, stats_signal, 0, 0, 64, "",                                                                        \
      "the signal that asks for statistics, by name or number; TERM, INT, QUIT and HUP then end the program; 0: none") \
    X(STATS_INTERVAL_MS, stats_interval_ms, 0, 0, 86400000, "ms",                                                      \
      "how often statistics are written while the program allocates; 0: never")                                        \
    X(TRACE, trace, 0, 0, 255, "bytes",                                                                                \
      "the path of the file that the program's timeline is written to: %p is the process, %e the program")             \
    X(TRACE_BYTES, trace_bytes, 4 * MIB, 64 * KIB, GIB, "bytes", "how long that file is: it has the newest events")    \
    X(EXPORT, export, 0, 0, 1, "", "1: the same user may read what the library counts (tslab top)")                    \
    X(PROFILE, profile, 0, 0, TIB, "bytes",                                                                            \
      "heap profile: a sample in so many allocated bytes on average: 512K costs up to a tenth; 0: none")               \
    X(PROFILE_FILE, profile_file, 0, 0, 255, "bytes",                                                                  \
      "the path of the file that the profile goes to, at exit and with statistics: as stats_file")                     \
    X(EPOCH_POLICY, epoch_policy, WORK_NEVER, 0, 0, "",                                                                \
      "the epochs of units of work: never, per-request, batch-N, interval-MS, manual")

#define OPTION_CONSTANT(constant, name, fallback, smallest, largest, unit, doc) OPTION_##constant,
enum option { OPTION_TABLE(OPTION_CONSTANT) OPTION_COUNT };

/* The values. All threads read them on slow paths, so no other variable shares their cache lines. */
enum { OPTION_ROOM = (OPTION_COUNT + 7) / 8 * 8 };
extern _Alignas(CACHE_LINE) atomic_u64 option_values[OPTION_ROOM];

static inline uint64_t option_get(enum option option)
{
    invariant(option < OPTION_COUNT);
    return load_plain(&option_values[option]);
}

/* The value of some options is a word, and for some words a number: batch-64 is WORK_BATCH and 64. */
enum work_policy { WORK_NEVER, WORK_PER_REQUEST, WORK_BATCH, WORK_INTERVAL, WORK_MANUAL };
enum purge_policy { PURGE_ADAPTIVE, PURGE_DELAYED, PURGE_EAGER, PURGE_LAZY, PURGE_NEVER };
enum huge_pages { HUGE_PAGES_ADAPTIVE, HUGE_PAGES_ALWAYS, HUGE_PAGES_NEVER };
enum { WORD_SHIFT = 3 };

enum stats_form { STATS_NONE, STATS_SUMMARY, STATS_JSON };

static inline unsigned option_word_of(uint64_t value)
{
    return (unsigned)(value & ((1 << WORD_SHIFT) - 1));
}

static inline uint64_t option_number_of(uint64_t value)
{
    return value >> WORD_SHIFT;
}

static inline unsigned option_word(enum option option)
{
    return option_word_of(option_get(option));
}

/* Whether a signal that asks for statistics then ends the program, as it would without us. */
bool option_signal_ends(int number);

/* Sets the options from the variables of an environment. Ignores what is wrong in them, silently. */
void option_load(char *const *variables);

/* Reports what was wrong in them on stderr. That may block, so call it without a lock. */
void option_complain(char *const *variables);

/* The option of this name. OPTION_COUNT: there is none. */
enum option option_named(const char *name);

/* Whether an option may change while the program runs. The others are read when the library starts. */
bool option_may_change(enum option option);

/* Sets an option that may change. False: it cannot have this value. epoch_limits inside of a gate. */
bool option_set(enum option option, const char *value);

/* Appends the value of an option as option_set takes it. */
void option_tell(struct text *text, enum option option, uint64_t value);

/* Appends name=value for each option that has not its default, in lines. Returns how many. */
unsigned option_describe_changed(struct text *text);

#endif
