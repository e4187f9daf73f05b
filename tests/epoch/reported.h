/* What a report of a close must say. The including file has CHECK and CHECK_SAY, each kind of test its own. */
#ifndef REPORTED_H
#define REPORTED_H

#include <tslab/tslab.h>

static inline void check_report(const struct tslab_epoch_report *report, unsigned how, uint64_t survivors,
                                uint64_t bytes)
{
    CHECK_SAY(report->survivors == survivors && report->survivor_bytes == bytes,
              "%llu survivors of %llu bytes were reported, not %llu of %llu", (unsigned long long)report->survivors,
              (unsigned long long)report->survivor_bytes, (unsigned long long)survivors, (unsigned long long)bytes);
    CHECK(how != 0 || (report->reclaimed_bytes == 0 && report->rss_change_bytes == 0));
}

#endif
