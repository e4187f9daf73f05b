// tslab's functions, where the program runs on a library that has them: they are weak, so the same binary runs on any
// allocator, and there each of these does nothing.

#ifndef WORK_H
#define WORK_H

#include <tslab/tslab.h>

#pragma weak tslab_stat_get
#pragma weak tslab_stats_json
#pragma weak tslab_work_begin
#pragma weak tslab_work_end
#pragma weak tslab_work_pause
#pragma weak tslab_work_resume
#pragma weak tslab_work_rotate

static inline void work_begin(const char *label)
{
    if (tslab_work_begin != NULL) {
        tslab_work_begin(label);
    }
}

static inline void work_end(void)
{
    if (tslab_work_end != NULL) {
        tslab_work_end();
    }
}

static inline void work_pause(void)
{
    if (tslab_work_pause != NULL) {
        tslab_work_pause();
    }
}

static inline void work_resume(void)
{
    if (tslab_work_resume != NULL) {
        tslab_work_resume();
    }
}

static inline void work_rotate(void)
{
    if (tslab_work_rotate != NULL) {
        tslab_work_rotate();
    }
}

#endif
