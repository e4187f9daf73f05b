// tslab's functions, where the program runs on a library that has them: they are weak, so the same binary runs on any
// allocator, and there each of these does nothing.

#ifndef WORK_H
#define WORK_H

#include <tslab/tslab.h>

#pragma weak tslab_stat_get
#pragma weak tslab_work_begin
#pragma weak tslab_work_end
#pragma weak tslab_work_pause
#pragma weak tslab_work_resume
#pragma weak tslab_work_rotate

#define IF_THERE(function, ...) (function != NULL ? (void)function(__VA_ARGS__) : (void)0)

#endif
