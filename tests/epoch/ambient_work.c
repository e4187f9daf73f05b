/* Units of work in a program that knows of no epochs but for their begin and end. The operator has chosen
 * per-request. */
#include "ambient_library.h"
#include "epoch.h"

enum { UNITS = 2000 };

static void *serve(void *argument)
{
    const size_t self = (uintptr_t)argument;
    char *kept = NULL;
    tslab_epoch kept_in = no_epoch;
    for (size_t i = 0; i < UNITS; i++) {
        STATUS(tslab_work_begin("request"), TSLAB_OK);
        char *const answer = library_allocate(12, 0);
        const tslab_epoch epoch = tslab_epoch_of(answer);
        CHECK(epoch.id != 0 && same(epoch, tslab_epoch_current()));
        tslab_work_pause();
        char *const logged = library_allocate(9, 0);
        CHECK(same(tslab_epoch_of(logged), no_epoch));
        STATUS(tslab_work_resume(), TSLAB_OK);
        if (i % 100 == self) {
            free(kept);
            CHECK(kept_in.id == 0 || tslab_epoch_stats_get(kept_in, &(struct tslab_epoch_stats){ 0 }) == TSLAB_STALE);
            kept = strdup("a session");
            kept_in = epoch;
        }
        free(answer);
        STATUS(tslab_work_end(), TSLAB_OK);
        struct tslab_epoch_stats stats;
        const int status = tslab_epoch_stats_get(epoch, &stats);
        if (same(epoch, kept_in)) {
            CHECK(status == TSLAB_OK && stats.state == TSLAB_EPOCH_DRAINING && stats.live_objects == 1);
            CHECK(strcmp(stats.label, "request") == 0);
        } else {
            STATUS(status, TSLAB_STALE);
        }
        CHECK(kept == NULL || strcmp(kept, "a session") == 0);
        free(logged);
    }
    free(kept);
    return NULL;
}

CASE(requests_have_epochs)
{
    CHECK_SAY(malloc_is_ours(), "this is for the drop-in, with TSLAB_EPOCH_POLICY=per-request");
    in_threads(4, serve, NULL, 1);
    CHECK(tslab_epoch_list(NULL, 0) == 0);
}
