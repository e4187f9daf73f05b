/* Misuse by pointer in epochs ends the program, by the same fixed lines as elsewhere. Each case is a process of its
 * own.
 *
 * An epoch keeps the objects of its first while in another way than those of a long life, so the same misuse is tried
 * in a young epoch and in an old one. */
#include "misuse.h"

#include "epoch.h"

static const char label[] = "misused";

static tslab_epoch epoch; /* that the case is about */

/* A slab of a long-lived epoch may see the misuse only when the slot comes to it, which is at the close
 * at the latest. */
static void expected_end(void)
{
    misuse_survived();
    if (same(tslab_epoch_current(), epoch)) {
        leave(epoch);
    }
    (void)tslab_epoch_close(epoch, TSLAB_CLOSE_RECLAIM, NULL);
    (void)tslab_trim();
}

static void free_misused(void *p)
{
    misused(p);
    tslab_free(p);
    expected_end();
}

/* Other objects of every kind keep what the object lies in from being recycled. */
static void *object(size_t size)
{
    (void)filled(epoch, size, 0);
    void *const p = filled(epoch, size, 1);
    (void)filled(epoch, size, 2);
    return p;
}

static const size_t sizes[] = { 16, 48, 64, 80, 100, 500, 1024, 3000, 8000, 20000 };

/* Double frees: the sizes before the last are freed properly, to see that it is not that which ends the program. */

static void twice_in_a_row(void)
{
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        tslab_free(object(sizes[i]));
    }
    void *const p = object(64);
    tslab_free(p);
    free_misused(p);
}

static void twice_in_a_row_inside(void)
{
    enter(epoch);
    twice_in_a_row();
}

static void twice_a_greater_one(void)
{
    void *const p = object(20000);
    tslab_free(p);
    free_misused(p);
}

static void twice_the_smallest(void)
{
    void *const p = object(1);
    tslab_free(p);
    free_misused(p);
}

static void twice_with_others_between(void)
{
    enum { OTHERS = 300 };
    static void *others[OTHERS];
    enter(epoch);
    void *const p = object(48);
    for (size_t i = 0; i < OTHERS; i++) {
        others[i] = filled(epoch, 48, i);
    }
    tslab_free(p);
    for (size_t i = 0; i < OTHERS; i++) {
        tslab_free(others[i]);
    }
    free_misused(p);
}

static void *free_it(void *p)
{
    tslab_free(p);
    return NULL;
}

static void twice_by_two_threads(void)
{
    void *const p = object(80);
    in_a_thread(free_it, p);
    misused(p);
    in_a_thread(free_it, p);
    expected_end();
}

static void twice_by_owner_and_stranger(void)
{
    enter(epoch);
    void *const p = object(64);
    tslab_free(p);
    misused(p);
    in_a_thread(free_it, p);
    expected_end();
}

static void twice_after_leaving(void)
{
    enter(epoch);
    void *const p = object(64);
    tslab_free(p);
    leave(epoch);
    free_misused(p);
}

static void twice_while_it_drains(void)
{
    void *const p = object(64);
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
    tslab_free(p);
    free_misused(p);
}

static void twice_after_close(void)
{
    void *const p = object(64);
    tslab_free(p);
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
    free_misused(p);
}

static void twice_after_the_epoch_is_gone(void)
{
    void *const p = filled(epoch, 100, 1);
    tslab_free(p);
    STATUS(tslab_epoch_release(epoch, TSLAB_CLOSE_RECLAIM, NULL), TSLAB_OK);
    (void)tslab_trim();
    free_misused(p);
}

static void twice_a_large_one(void)
{
    void *const p = filled(epoch, 100000, 1);
    tslab_free(p);
    free_misused(p);
}

static void realloc_after_free(void)
{
    void *const p = object(64);
    tslab_free(p);
    misused(p);
    (void)keep(tslab_realloc(p, 1000));
    expected_end();
}

static void realloc_to_0_after_free(void)
{
    void *const p = object(64);
    tslab_free(p);
    misused(p);
    (void)keep(tslab_realloc(p, 0));
    expected_end();
}

/* Into an object. */

static void interior_by_16(void)
{
    free_misused((char *)object(64) + 16);
}

static void interior_by_1(void)
{
    free_misused((char *)object(64) + 1);
}

static void interior_by_8_of_the_smallest(void)
{
    free_misused((char *)object(16) + 8);
}

static void interior_at_the_end(void)
{
    free_misused((char *)object(1024) + 1008);
}

static void interior_of_a_great_one(void)
{
    free_misused((char *)object(20000) + 10000);
}

static void interior_of_a_great_one_in_the_next_unit(void)
{
    free_misused((char *)object(32000) + UNIT);
}

static void interior_of_a_large_one(void)
{
    free_misused((char *)object(100000) + 16);
}

static void interior_of_a_large_one_far_in(void)
{
    free_misused((char *)object(100000) + 50000);
}

static void interior_by_a_stranger(void)
{
    void *const p = (char *)object(64) + 16;
    misused(p);
    in_a_thread(free_it, p);
    expected_end();
}

static void interior_while_it_drains(void)
{
    void *const p = (char *)object(64) + 16;
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
    free_misused(p);
}

static void realloc_interior(void)
{
    void *const p = (char *)object(64) + 16;
    misused(p);
    (void)keep(tslab_realloc(p, 1000));
    expected_end();
}

static void usable_size_interior(void)
{
    void *const p = (char *)object(64) + 1;
    misused(p);
    (void)tslab_usable_size(p);
    expected_end();
}

/* Behind the last object of a young epoch there is memory that was never handed out. */
static void wild_behind_the_last_object(void)
{
    char *const p = filled(epoch, 64, 1);
    free_misused(p + 64 + 48);
}

/* After the end. */

static void after_release_of(size_t size)
{
    void *const p = filled(epoch, size, 1);
    (void)object(size);
    STATUS(tslab_epoch_release(epoch, 0, NULL), TSLAB_OK);
    free_misused(p);
}

static void after_release(void)
{
    after_release_of(64);
}

static void a_great_one_after_release(void)
{
    after_release_of(20000);
}

static void a_large_one_after_release(void)
{
    after_release_of(100000);
}

static void after_release_with_reclaim(void)
{
    void *const p = object(64);
    STATUS(tslab_epoch_release(epoch, TSLAB_CLOSE_RECLAIM, NULL), TSLAB_OK);
    free_misused(p);
}

static void after_a_trap(void)
{
    const tslab_epoch trap = opened_as(label, TSLAB_POLICY_TRAP);
    void *const p = filled(trap, 64, 1);
    STATUS(tslab_epoch_close(trap, 0, NULL), TSLAB_OK);
    free_misused(p);
}

/* What is dead may then have been freed, or released: nobody can tell. */
static void twice_after_another_was_released(void)
{
    const tslab_epoch other = opened();
    (void)filled(other, 64, 1);
    STATUS(tslab_epoch_release(other, 0, NULL), TSLAB_OK);
    void *const p = filled(epoch, 100000, 1);
    tslab_free(p);
    free_misused(p);
}

/* Objects of handles are freed by them alone: the handle's own free is the second one. */

static void the_object_of_a_handle(void)
{
    void *p;
    const tslab_handle handle = tslab_handle_malloc(epoch, 100, &p);
    CHECK(handle.id != 0);
    misused(p);
    tslab_free(p);
    (void)tslab_handle_free(epoch, handle);
    expected_end();
}

static void the_object_of_a_handle_inside(void)
{
    enter(epoch);
    the_object_of_a_handle();
}

static void the_object_of_a_handle_by_a_stranger(void)
{
    void *p;
    const tslab_handle handle = tslab_handle_malloc(epoch, 100, &p);
    CHECK(handle.id != 0);
    misused(p);
    in_a_thread(free_it, p);
    (void)tslab_handle_free(epoch, handle);
    expected_end();
}

static void realloc_of_the_object_of_a_handle(void)
{
    void *p;
    const tslab_handle handle = tslab_handle_malloc(epoch, 100, &p);
    CHECK(handle.id != 0);
    misused(p);
    (void)keep(tslab_realloc(p, 10000));
    (void)tslab_handle_free(epoch, handle);
    expected_end();
}

static void into_the_object_of_a_handle(void)
{
    void *p;
    CHECK(tslab_handle_malloc(epoch, 100, &p).id != 0);
    free_misused((char *)p + 16);
}

/* What is no misuse. */

static void rightful_use(void)
{
    void *p;
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        tslab_free(object(sizes[i]));
        const tslab_handle handle = tslab_handle_malloc(epoch, sizes[i], &p);
        CHECK(tslab_usable_size(p) >= sizes[i]);
        STATUS(tslab_handle_free(epoch, handle), TSLAB_OK);
        STATUS(tslab_handle_free(epoch, handle), TSLAB_STALE);
        p = tslab_realloc(filled(epoch, sizes[i], 3), sizes[i] * 3);
        verify_and_free(p, sizes[i], 3);
    }
    tslab_free(NULL);
}

/* Checks change when they are seen, not what is said. */
#define EITHER(name, ends) MISUSE(name, (ends), (ends))
static const struct misuse cases[] = {
    EITHER(twice_in_a_row, DOUBLE | DOUBLE_OR_WILD),
    EITHER(twice_in_a_row_inside, DOUBLE | DOUBLE_OR_WILD),
    EITHER(twice_a_greater_one, DOUBLE | DOUBLE_OR_WILD),
    EITHER(twice_the_smallest, DOUBLE | DOUBLE_OR_WILD),
    EITHER(twice_with_others_between, DOUBLE | DOUBLE_OR_WILD),
    EITHER(twice_by_two_threads, DOUBLE | DOUBLE_OR_WILD),
    EITHER(twice_by_owner_and_stranger, DOUBLE | DOUBLE_OR_WILD),
    EITHER(twice_after_leaving, DOUBLE | DOUBLE_OR_WILD),
    EITHER(twice_while_it_drains, DOUBLE | DOUBLE_OR_WILD),
    EITHER(twice_after_close, DOUBLE | DOUBLE_OR_WILD),
    EITHER(twice_after_the_epoch_is_gone, DOUBLE_OR_WILD),
    EITHER(twice_a_large_one, DOUBLE_OR_WILD),
    EITHER(realloc_after_free, DOUBLE | DOUBLE_OR_WILD),
    EITHER(realloc_to_0_after_free, DOUBLE | DOUBLE_OR_WILD),
    EITHER(interior_by_16, INTERIOR | DOUBLE_OR_WILD),
    EITHER(interior_by_1, INTERIOR | DOUBLE_OR_WILD),
    EITHER(interior_by_8_of_the_smallest, INTERIOR | DOUBLE_OR_WILD),
    EITHER(interior_at_the_end, INTERIOR | DOUBLE_OR_WILD),
    EITHER(interior_of_a_great_one, INTERIOR | DOUBLE_OR_WILD),
    EITHER(interior_of_a_great_one_in_the_next_unit, INTERIOR | DOUBLE_OR_WILD),
    EITHER(interior_of_a_large_one, INTERIOR | DOUBLE_OR_WILD),
    EITHER(interior_of_a_large_one_far_in, INTERIOR | DOUBLE_OR_WILD),
    EITHER(interior_by_a_stranger, INTERIOR | DOUBLE_OR_WILD),
    EITHER(interior_while_it_drains, INTERIOR | DOUBLE_OR_WILD),
    EITHER(realloc_interior, INTERIOR | DOUBLE_OR_WILD),
    EITHER(usable_size_interior, INTERIOR | DOUBLE_OR_WILD),
    EITHER(wild_behind_the_last_object, DOUBLE | DOUBLE_OR_WILD | INTERIOR),
    EITHER(after_release, DOUBLE_OR_WILD),
    EITHER(a_great_one_after_release, DOUBLE_OR_WILD),
    EITHER(a_large_one_after_release, DOUBLE_OR_WILD),
    EITHER(after_release_with_reclaim, DOUBLE_OR_WILD),
    EITHER(after_a_trap, DOUBLE_OR_WILD),
    EITHER(twice_after_another_was_released, DOUBLE_OR_WILD),
    EITHER(the_object_of_a_handle, INTERIOR | DOUBLE | DOUBLE_OR_WILD),
    EITHER(the_object_of_a_handle_inside, INTERIOR | DOUBLE | DOUBLE_OR_WILD),
    EITHER(the_object_of_a_handle_by_a_stranger, INTERIOR | DOUBLE | DOUBLE_OR_WILD),
    EITHER(realloc_of_the_object_of_a_handle, INTERIOR | DOUBLE | DOUBLE_OR_WILD),
    EITHER(into_the_object_of_a_handle, INTERIOR | DOUBLE | DOUBLE_OR_WILD),
    EITHER(rightful_use, COMPLETES),
};

static void begin_young(void)
{
    epoch = opened_as(label, TSLAB_POLICY_DRAIN);
}

static void begin_old(void)
{
    begin_young();
    grow_old(epoch);
}

int main(int argc, char **argv)
{
    static const struct misuse_place places[] = {
        { "in a young epoch", begin_young, false },
        { "in an old epoch", begin_old, true },
    };
    const struct misuse_table table = {
        .cases = cases,
        .count = COUNT_OF(cases),
        .places = places,
        .place_count = COUNT_OF(places),
        .label = label,
    };
    return misuse_run(&table, NULL, argc, argv);
}
