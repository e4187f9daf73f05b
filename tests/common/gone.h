/* Values of epochs that are no more. The including file has CHECK and STATUS, each kind of test its own. */
#ifndef GONE_H
#define GONE_H

#include <errno.h>
#include <stdbool.h>
#include <tslab/tslab.h>

static const tslab_epoch no_epoch = { 0 };

static inline bool same(tslab_epoch a, tslab_epoch b)
{
    return a.id == b.id;
}

/* A value that names no epoch is refused by everything that takes one. */
static inline void check_gone(tslab_epoch epoch)
{
    const tslab_epoch before = tslab_epoch_current();
    struct tslab_epoch_stats stats;
    STATUS(tslab_epoch_stats_get(epoch, &stats), TSLAB_STALE);
    STATUS(tslab_epoch_enter(epoch), TSLAB_STALE);
    STATUS(tslab_epoch_leave(epoch), TSLAB_NOT_INSIDE);
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_STALE);
    STATUS(tslab_epoch_release(epoch, TSLAB_CLOSE_RECLAIM, NULL), TSLAB_STALE);
    tslab_epoch advanced = epoch;
    STATUS(tslab_epoch_advance(&advanced, 0, NULL), TSLAB_STALE);
    CHECK(same(advanced, epoch));
    errno = 0;
    CHECK(tslab_epoch_malloc(epoch, 10) == NULL && errno == EINVAL);
    errno = 0;
    CHECK(tslab_epoch_calloc(epoch, 1, 10) == NULL && errno == EINVAL);
    errno = 0;
    CHECK(tslab_epoch_aligned_alloc(epoch, 64, 10) == NULL && errno == EINVAL);
    errno = 0;
    void *p = NULL;
    CHECK(tslab_handle_malloc(epoch, 10, &p).id == 0 && errno == EINVAL);
    CHECK(same(tslab_epoch_current(), before));
}

#endif
