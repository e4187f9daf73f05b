/* Without magazines, as the environment of this program says: every operation goes straight to a slab. */
#include "child.h"

#include "common/option.h"
#include "malloc/current_thread.h"

#include <tslab/tslab.h>

enum { LIVE = 1000, OPERATIONS = 100000 };

static void nothing_but_a_word_of_slots_is_cached(void)
{
    for (unsigned class = 1; class < CLASS_LIMIT; class ++) {
        assert_in_range(heap_cached(front_current->heap, class), 0, WORD_SLOTS - 1);
    }
}

static void every_operation_goes_round_the_magazines(void **state)
{
    (void)state;
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
    struct tslab_stats stats;
    tslab_stats_get(&stats);
    struct tslab_class_stats class;
    for (uint32_t number = 0; tslab_class_stats_get(number, &class) == TSLAB_OK; number++) {
        assert_int_equal(class.misses, class.allocations + class.frees);
    }
    assert_int_equal(stats.refills, 0);
    assert_int_equal(stats.flushes, 0);
    assert_int_equal(stats.allocations - stats.frees, live);
    assert_int_equal(stats.live_objects, live);
    for (size_t at = 0; at < LIVE; at++) {
        tslab_free(objects[at]);
    }
    (void)tslab_trim();
    tslab_stats_get(&stats);
    assert_int_equal(stats.live_objects, 0);
    assert_int_equal(stats.cached_bytes, 0);
    assert_int_equal(stats.slabs_opened, stats.slabs_recycled);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation_goes_round_the_magazines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
