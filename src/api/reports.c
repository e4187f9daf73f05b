/* Statistics by their public names, and the reports that options ask for: while the program runs, and at its end. */
#include "base/build.h"

#include <tslab/tslab.h>

#include "audit/accounts.h"
#include "common/option.h"
#include "common/trace.h"
#include "malloc/exit_check.h"
#include "os/fatal.h"
#include "os/os.h"
#include "os/sink.h"
#include "report/black_box.h"
#include "report/channel.h"
#include "report/profile.h"
#include "report/report_signal.h"
#include "report/statistics.h"
#include "report/summary.h"

TSLAB_API enum tslab_status tslab_stats_get(struct tslab_stats *stats)
{
    if (stats == NULL) {
        return TSLAB_INVALID;
    }
    struct total_figures totals;
    stats_totals(&totals);
    *stats = (struct tslab_stats){
        .live_objects = totals.live_objects,
        .live_bytes = totals.live_bytes,
        .large_bytes = totals.large_bytes,
        .cached_bytes = totals.cached_bytes,
        .slab_bytes = totals.slab_bytes,
        .chunk_bytes = totals.chunk_bytes,
        .dirty_bytes = totals.dirty_bytes,
        .committed_bytes = totals.committed_bytes,
        .metadata_bytes = totals.metadata_bytes,
        .allocations = totals.allocations,
        .frees = totals.frees,
        .threads = totals.threads,
        .epochs_open = totals.epochs_open,
        .epochs_draining = totals.epochs_draining,
    };
    return TSLAB_OK;
}

TSLAB_API enum tslab_status tslab_stats_print(int fd)
{
    return summary_print(fd) ? TSLAB_OK : TSLAB_INVALID;
}

/* Writes a report in the form that the options ask for, to where they want it. */
static void write_statistics(uint32_t number)
{
    const int fd = sink_open(SINK_STATISTICS, option_path(OPTION_STATS), number);
    const unsigned form = option_choice(OPTION_STATS);
    invariant(form == STATS_NONE || form == STATS_SUMMARY || form == STATS_JSON);
    if (fd < 0) {
        return;
    }
    if (form == STATS_JSON) {
        (void)tslab_stats_json(fd);
    } else {
        (void)summary_print(fd);
    }
    sink_close(fd);
}

/* Requests of the program's user while it runs. */
static void write_report(void)
{
    const uint32_t number = fetch_add_relaxed(&report_signal.reports, 1);
    write_statistics(number);
    profile_save(number);
}

/* Before the program can close what it was started with. */
__attribute__((constructor(102))) static void prepare_reports(void)
{
    /* Where the library is not built with it, it starts later, and serves the program itself. */
    if (!TSLAB_TSAN && os_has_thread_sanitizer()) {
        return;
    }
    const bool exports = option_get(OPTION_EXPORT) != 0, has_box = option_get(OPTION_BLACKBOX) != 0;
    if (option_get(OPTION_STATS) != 0 || option_get(OPTION_STATS_SIGNAL) != 0 || exports || has_box) {
        trace.keeps = sink_keep_stderr();
    }
    report_signal_start(write_report);
    if (exports) {
        channel_start();
    }
    if (has_box) {
        black_box_start();
    }
    (void)profile_set(option_get(OPTION_PROFILE));
}

__attribute__((destructor)) static void print_at_exit(void)
{
    exit_check();
    const uint32_t number = fetch_add_relaxed(&report_signal.reports, 1);
    if (option_choice(OPTION_STATS) != STATS_NONE) {
        write_statistics(number);
    }
    profile_save(number);
}
