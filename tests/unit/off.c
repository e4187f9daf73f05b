/* Without magazines, as the environment of this program says: every operation goes straight to a slab. */
#include "child.h"

#include "common/option.h"
#include "malloc/current_thread.h"
#include "report/statistics.h"

#include <tslab/tslab.h>

enum { LIVE = 1000, OPERATIONS = 100000 };

static void nothing_but_a_word_of_slots_is_cached(void)
{
    for (unsigned class = 1; class < CLASS_LIMIT; class ++) {
        assert_in_range(heap_cached(front_current->heap, class), 0, WORD_SLOTS - 1);
    }
}

TEST(every_operation_goes_round_the_magazines)
{
    assert_int_equal(option_get(OPTION_MAGAZINES), 0);
    static void *objects[LIVE];
    uint64_t random = 9;
    size_t live = 0;
    for (size_t i = 0; i < OPERATIONS; i++) {
        const size_t at = random_next(&random) % LIVE;
        if (objects[at] != NULL) {
            tslab_free(objects[at]);
            objects[at] = NULL;
            live--;
        } else {
            objects[at] = tslab_malloc(random_next(&random) % 5000);
            assert_non_null(objects[at]);
            live++;
        }
        if (i % 1000 == 0) {
            nothing_but_a_word_of_slots_is_cached();
        }
    }
    struct total_figures stats;
    stats_totals(&stats);
    for (unsigned class = 1; class < CLASS_LIMIT; class ++) {
        struct class_figures figures;
        stats_class_get(class, &figures);
        assert_int_equal(figures.misses, figures.allocations + figures.frees);
    }
    assert_int_equal(stats.refills, 0);
    assert_int_equal(stats.flushes, 0);
    assert_int_equal(stats.allocations - stats.frees, live);
    assert_int_equal(stats.live_objects, live);
    for (size_t at = 0; at < LIVE; at++) {
        tslab_free(objects[at]);
    }
    (void)tslab_trim();
    stats_totals(&stats);
    assert_int_equal(stats.live_objects, 0);
    assert_int_equal(stats.cached_bytes, 0);
    assert_int_equal(stats.slabs_opened, stats.slabs_recycled);
}
