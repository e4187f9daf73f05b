/* The figures that a report of a close must have. The including file has CHECK and CHECK_SAY, each kind of test its
 * own. */
#ifndef REPORTED_H
#define REPORTED_H

#include <stdbool.h>
#include <tslab/tslab.h>

/* Whether the engine tells as many bytes as the users of the objects may use: in the checked library (SECURITY.md) it
 * counts what it keeps behind each object, too. */
static inline bool bytes_agree(uint64_t told, uint64_t usable)
{
    return TSLAB_CHECKED > 1 ? told >= usable : told == usable;
}

static inline void check_report(const struct tslab_epoch_report *report, unsigned how, uint64_t survivors,
                                uint64_t bytes)
{
    CHECK_SAY(report->survivors == survivors && bytes_agree(report->survivor_bytes, bytes),
              "%llu survivors of %llu bytes were reported, not %llu of %llu", (unsigned long long)report->survivors,
              (unsigned long long)report->survivor_bytes, (unsigned long long)survivors, (unsigned long long)bytes);
    CHECK(how != 0 || (report->reclaimed_bytes == 0 && report->rss_change_bytes == 0));
}

#endif
