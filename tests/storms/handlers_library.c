/* Registers its fork handlers before libtslab does: it needs nothing of that, so its constructors run first. (Under the
 * drop-in, whose constructors come before all others, it comes after.) */
#include "check.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <tslab/tslab.h>

int handlers_run;
_Thread_local bool handlers_nearly_gone; /* the thread may not be able to enter an epoch */

static void *(*allocate)(size_t);
static void (*release)(void *);
static tslab_epoch (*epoch_open)(const struct tslab_epoch_options *);
static enum tslab_status (*epoch_enter)(tslab_epoch);
static enum tslab_status (*epoch_leave)(tslab_epoch);
static enum tslab_status (*epoch_close)(tslab_epoch, tslab_close_flags, struct tslab_epoch_report *);

/* The functions of the library are there long before its constructors have run. */
static void handle(void)
{
    handlers_run++;
    void *blocks[200];
    for (size_t size = 8; size < 100000; size *= 3) {
        for (size_t i = 0; i < COUNT_OF(blocks); i++) {
            blocks[i] = allocate(size);
            CHECK(blocks[i] != NULL);
            pattern_fill(blocks[i], 8, i);
        }
        for (size_t i = 0; i < COUNT_OF(blocks); i++) {
            CHECK(pattern_holds(blocks[i], 8, i));
            release(blocks[i]);
        }
    }
    const tslab_epoch epoch = epoch_open(NULL);
    const int entered = epoch_enter(epoch);
    CHECK(entered >= 0 || handlers_nearly_gone);
    release(allocate(100));
    CHECK(entered < 0 || epoch_leave(epoch) == TSLAB_OK);
    CHECK(epoch_close(epoch, 0, NULL) == TSLAB_OK);
}

static void *find(const char *name)
{
    void *const found = dlsym(RTLD_DEFAULT, name);
    CHECK_SAY(found != NULL, "no %s", name);
    return found;
}

__attribute__((constructor(101))) static void construct(void)
{
    *(void **)&allocate = find("tslab_malloc");
    *(void **)&release = find("tslab_free");
    *(void **)&epoch_open = find("tslab_epoch_open");
    *(void **)&epoch_enter = find("tslab_epoch_enter");
    *(void **)&epoch_leave = find("tslab_epoch_leave");
    *(void **)&epoch_close = find("tslab_epoch_close");
    CHECK(pthread_atfork(handle, handle, handle) == 0);
}
