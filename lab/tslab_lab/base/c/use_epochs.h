// tslab's epochs for programs that run on any allocator: the functions are weak, and the same binary runs where there
// are none. What these do must succeed.

#ifndef USE_EPOCHS_H
#define USE_EPOCHS_H

#include "self.h"

#include <tslab/tslab.h>

#include <stdbool.h>
#include <stdio.h>

#pragma weak tslab_epoch_close
#pragma weak tslab_epoch_enter
#pragma weak tslab_epoch_leave
#pragma weak tslab_epoch_malloc
#pragma weak tslab_epoch_of
#pragma weak tslab_epoch_open

static inline bool has_epochs(void)
{
    return tslab_epoch_open != NULL;
}

static inline void require_epochs(const char *program)
{
    if (!has_epochs()) {
        fprintf(stderr, "%s: this needs tslab: run it with LD_PRELOAD=.../libtslab-malloc.so\n", program);
        exit(2);
    }
}

static inline tslab_epoch open_epoch_with(struct tslab_epoch_options options)
{
    const tslab_epoch epoch = tslab_epoch_open(&options);
    if (epoch.id == 0) {
        fail("an epoch cannot be opened");
    }
    return epoch;
}

static inline tslab_epoch open_epoch(enum tslab_policy policy, unsigned flags)
{
    return open_epoch_with((struct tslab_epoch_options){ .policy = policy, .flags = flags });
}

static inline void enter_epoch(tslab_epoch epoch, int wanted)
{
    if (tslab_epoch_enter(epoch) != wanted) {
        fail("an epoch is not entered as it should be");
    }
}

static inline void leave_epoch(tslab_epoch epoch)
{
    if (tslab_epoch_leave(epoch) != TSLAB_OK) {
        fail("an epoch cannot be left");
    }
}

static inline void close_epoch(tslab_epoch epoch, unsigned how)
{
    if (tslab_epoch_close(epoch, how, NULL) != TSLAB_OK) {
        fail("an epoch is not closed");
    }
}

#endif
