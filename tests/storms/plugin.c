/* A plugin that allocates in its constructor, frees in its destructor, and, when it is used, lives in an epoch. It is
 * built three times: with libtslab, with a libtslab of its own inside, and, as PLUGIN_PLAIN, with the program's malloc
 * alone. */
#include "check.h"

#ifdef PLUGIN_PLAIN
#define tslab_malloc malloc
#define tslab_free   free
#else
#include <tslab/tslab.h>
#endif

void plugin_use(void);

static void *constructed[100];

__attribute__((constructor)) static void construct(void)
{
    for (size_t i = 0; i < COUNT_OF(constructed); i++) {
        constructed[i] = tslab_malloc(i * 40);
        CHECK(constructed[i] != NULL);
        pattern_fill(constructed[i], i * 40, i);
    }
}

__attribute__((destructor)) static void destruct(void)
{
    for (size_t i = 0; i < COUNT_OF(constructed); i++) {
        CHECK(pattern_holds(constructed[i], i * 40, i));
        tslab_free(constructed[i]);
    }
}

void plugin_use(void)
{
    void *blocks[50];
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        blocks[i] = tslab_malloc(i * i * 20);
        CHECK(blocks[i] != NULL);
        pattern_fill(blocks[i], i < 8 ? i : 8, i);
    }
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        CHECK(pattern_holds(blocks[i], i < 8 ? i : 8, i));
        tslab_free(blocks[i]);
    }
#ifndef PLUGIN_PLAIN
    const tslab_epoch epoch = tslab_epoch_open(NULL);
    CHECK(tslab_epoch_enter(epoch) >= 0 && tslab_epoch_malloc(epoch, 100) != NULL);
    CHECK(tslab_epoch_leave(epoch) == TSLAB_OK && tslab_epoch_release(epoch, 0, NULL) == TSLAB_OK);
#endif
}
