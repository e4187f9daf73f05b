/* Has pointers of every kind, and aborts: for debugger.py. */
#include <tslab/tslab.h>

#include <stdlib.h>
#include <string.h>

/* The debugger reads them by name. */
extern void *live, *freed, *cached, *large, *freed_large, *hot, *in_epoch, *ended_in_epoch, *foreign, *handled;
void *live, *freed, *cached, *large, *freed_large, *hot, *in_epoch, *ended_in_epoch, *foreign, *handled;

static char somewhere;

static void take_and_free(void)
{
    large = malloc(3 << 20);
    freed_large = malloc(9 << 20);
    void *const behind = malloc(9 << 20);
    freed = malloc(1000);
    live = malloc(1000);
    memset(freed, 1, 1000);
    free(freed);
    free(freed_large);
    (void)tslab_trim();
    cached = malloc(100);
    free(cached);
    hot = malloc(400 << 10);
    free(hot);
    if (behind == NULL) {
        exit(1);
    }
}

int main(void)
{
    foreign = &somewhere;
    take_and_free();
    const struct tslab_epoch_options options = { .label = "request" };
    const tslab_epoch epoch = tslab_epoch_open(&options);
    if (tslab_epoch_enter(epoch) < 0) {
        return 1;
    }
    in_epoch = malloc(200);
    ended_in_epoch = malloc(50);
    void *const last = malloc(60);
    free(ended_in_epoch);
    (void)tslab_epoch_leave(epoch);
    (void)tslab_handle_malloc(epoch, 64, &handled);
    const tslab_epoch more[] = { tslab_epoch_open(&options), tslab_epoch_open(&options) };
    void *const survivor = tslab_epoch_malloc(more[1], 10);
    if (last == NULL || handled == NULL || survivor == NULL || tslab_epoch_close(more[1], 0, NULL) != TSLAB_OK) {
        return 1;
    }
    abort();
}
