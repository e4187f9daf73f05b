/* The places of all that a build without reports leaves out (src/REPORTS): functions that say so, or do nothing. */
#include "base/build.h"

#if !TSLAB_REPORTS

#include <tslab/tslab.h>

#include "audit/diagnosis.h"
#include "malloc/exit_check.h"
#include "report/statistics.h"
#include "report/summary.h"

#include <errno.h>
#include <string.h>

void diagnosis_start(void)
{
}

/* For mallinfo and malloc_info. */
void stats_totals(struct total_figures *totals)
{
    memset(totals, 0, sizeof *totals);
}

bool summary_print(int fd)
{
    (void)fd;
    return true;
}

TSLAB_API enum tslab_status tslab_stats_get(struct tslab_stats *stats)
{
    (void)stats;
    return TSLAB_UNSUPPORTED;
}

TSLAB_API enum tslab_status tslab_stat_get(const char *name, uint64_t *value)
{
    (void)name;
    (void)value;
    return TSLAB_UNSUPPORTED;
}

TSLAB_API enum tslab_status tslab_epoch_stats_get(tslab_epoch epoch, struct tslab_epoch_stats *stats)
{
    (void)epoch;
    (void)stats;
    return TSLAB_UNSUPPORTED;
}

TSLAB_API size_t tslab_epoch_list(struct tslab_epoch_stats *entries, size_t capacity)
{
    (void)entries;
    (void)capacity;
    errno = ENOSYS;
    return 0;
}

TSLAB_API enum tslab_status tslab_stats_print(int fd)
{
    (void)fd;
    return TSLAB_UNSUPPORTED;
}

TSLAB_API enum tslab_status tslab_stats_json(int fd)
{
    (void)fd;
    return TSLAB_UNSUPPORTED;
}

TSLAB_API enum tslab_status tslab_profile_write(int fd)
{
    (void)fd;
    return TSLAB_UNSUPPORTED;
}

__attribute__((destructor)) static void check_at_exit(void)
{
    exit_check();
}

#endif
