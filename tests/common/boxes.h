/* Black boxes in a test, as a program has them whose environment asks for them. */
#ifndef BOXES_H
#define BOXES_H

#include "check.h"

#include "common/option.h"
#include "common/trace.h"
#include "report/black_box.h"
#include "report/report_signal.h"

/* No signal asks for a report. */
static inline void boxes_no_report(void)
{
    CHECK(false);
}

/* The constructor that prepares reports is there only where the test is linked with it. */
static inline void boxes_begin(const char *directory)
{
    char variable[400];
    snprintf(variable, sizeof variable, "TSLAB_BLACKBOX=%s", directory);
    option_load((char *[]){ variable, NULL });
    if (trace.after_slow == NULL) {
        report_signal_start(boxes_no_report);
    }
    black_box_start();
}

#endif
