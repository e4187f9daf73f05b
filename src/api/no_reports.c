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

#define UNUSED __attribute__((unused))

void diagnosis_start(void)
{
}

/* For mallinfo and malloc_info. */
void stats_totals(struct total_figures *totals)
{
    memset(totals, 0, sizeof *totals);
}

bool summary_print(UNUSED int fd)
{
    return true;
}

#define UNSUPPORTED(name, ...)                                                                                         \
    TSLAB_API enum tslab_status name(__VA_ARGS__)                                                                      \
    {                                                                                                                  \
        return TSLAB_UNSUPPORTED;                                                                                      \
    }

UNSUPPORTED(tslab_stats_get_sized, UNUSED struct tslab_stats *stats, UNUSED size_t size)
UNSUPPORTED(tslab_stat_get, UNUSED const char *figure, UNUSED uint64_t *value)
UNSUPPORTED(tslab_epoch_stats_get_sized, UNUSED tslab_epoch epoch, UNUSED struct tslab_epoch_stats *stats,
            UNUSED size_t size)
UNSUPPORTED(tslab_stats_print, UNUSED int fd)
UNSUPPORTED(tslab_stats_json, UNUSED int fd)
UNSUPPORTED(tslab_profile_write, UNUSED int fd)

TSLAB_API size_t tslab_epoch_list_sized(UNUSED struct tslab_epoch_stats *entries, UNUSED size_t capacity,
                                        UNUSED size_t size)
{
    errno = ENOSYS;
    return 0;
}

__attribute__((destructor)) static void check_at_exit(void)
{
    exit_check();
}

#endif
