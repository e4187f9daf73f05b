/* Misuse by pointer ends the program: one line on stderr, then abort. Each case is a process of its own, and the line
 * is checked to the last digit of the address.
 *
 * A release build sees what the design sees for nothing; a checked build sees every case at the very call. */
#include "misuse.h"

#include "common/guard.h"
#include "os/os.h"
#include "space/arena.h"

#include <pthread.h>
#include <tslab/tslab.h>

static void *small(size_t size)
{
    void *const p = tslab_malloc(size);
    CHECK(p != NULL);
    memset(p, 0x5a, size);
    return p;
}

static void free_misused(void *p)
{
    misused(p);
    tslab_free(p);
}

/* Double frees. */

static void twice_in_a_row(void)
{
    void *const p = small(64);
    tslab_free(p);
    free_misused(p);
}

static void twice_in_a_row_of_each_class(void)
{
    /* The parent reads the last pointer; those before must not be seen as misused. */
    for (unsigned class = 1; class < CLASS_LIMIT; class ++) {
        tslab_free(small(class_geometry[class].size));
    }
    void *const p = small(SMALL_MAX - SEAL_BYTES);
    tslab_free(p);
    free_misused(p);
}

static void twice_in_a_row_after_an_allocation(void)
{
    void *const p = small(100);
    tslab_free(p);
    void *const again = small(100); /* the same slot, most likely: this is its rightful free */
    tslab_free(again);
    free_misused(again);
}

/* Other objects of the class keep the slab from being recycled. */
static void *keep_slab(size_t size)
{
    void *const p = small(size);
    (void)small(size);
    return p;
}

static void twice_with_others_between(void)
{
    enum { OTHERS = 300 };
    static void *others[OTHERS];
    void *const p = keep_slab(48);
    for (int i = 0; i < OTHERS; i++) {
        others[i] = small(48);
    }
    tslab_free(p);
    for (int i = 0; i < OTHERS; i++) {
        tslab_free(others[i]);
    }
    free_misused(p);
}

static void twice_after_it_went_to_its_slab(void)
{
    void *const p = keep_slab(64);
    tslab_free(p);
    (void)tslab_trim();
    misused(p);
    tslab_free(p);      /* a release build takes it for a free slot */
    (void)tslab_trim(); /* and sees it when it comes to the slab */
}

static void twice_within_a_flush(void)
{
    void *const p = keep_slab(64);
    void *const q = small(64);
    tslab_free(p);
    tslab_free(q);
    misused(p);
    tslab_free(p);
    (void)tslab_trim();
}

static void twice_after_the_slab_was_recycled(void)
{
    void *const p = small(64);
    tslab_free(p);
    (void)tslab_trim();
    free_misused(p);
}

static void *free_it(void *p)
{
    tslab_free(p);
    return NULL;
}

static void in_a_thread(void *(*body)(void *), void *argument)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, body, argument) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
}

static void twice_by_two_threads(void)
{
    void *const p =
        keep_slab(48); /* of a class whose slots strangers may not keep: they go back when the stranger ends */
    in_a_thread(free_it, p);
    misused(p);
    in_a_thread(free_it, p);
}

static void *free_it_twice(void *p)
{
    tslab_free(p);
    free_misused(p);
    return NULL;
}

static void twice_in_a_row_by_a_stranger(void)
{
    in_a_thread(free_it_twice, keep_slab(48));
}

static void *free_both_and_the_first_again(void *objects)
{
    void **const both = objects;
    tslab_free(both[0]);
    tslab_free(both[1]);
    free_misused(both[0]);
    return NULL;
}

static void twice_by_a_stranger_with_another_between(void)
{
    void *both[2] = { keep_slab(48), keep_slab(48) };
    in_a_thread(free_both_and_the_first_again, both); /* seen when the thread ends, at the latest */
}

static void twice_at_the_end_of_a_thread(void)
{
    void *const p = keep_slab(64); /* of a class whose slots strangers keep, until they end */
    in_a_thread(free_it, p);
    misused(p);
    in_a_thread(free_it, p);
}

/* A stranger frees the objects of two slabs in turns, and what is misused among them. */
static void *free_in_turns(void *misused_one)
{
    enum { FAR = 300, IN_TURNS = 40 };
    static void *objects[FAR + IN_TURNS];
    static void **const others = &objects[FAR];
    if (misused_one == NULL) {
        for (size_t i = 0; i < COUNT_OF(objects); i++) {
            objects[i] = small(64);
        }
        return objects[2];
    }
    for (size_t i = 0; i < IN_TURNS; i++) {
        tslab_free(objects[i]);
        tslab_free(others[i]);
    }
    misused(misused_one);
    tslab_free(misused_one);
    return NULL;
}

static void twice_among_what_is_mixed(void)
{
    in_a_thread(free_in_turns, free_in_turns(NULL));
    (void)tslab_trim(); /* the thread's heap rests until then */
}

static void interior_among_what_is_mixed(void)
{
    in_a_thread(free_in_turns, (char *)free_in_turns(NULL) + 16);
    (void)tslab_trim();
}

static void twice_a_large_one(void)
{
    void *const p = small(400000);
    tslab_free(p);
    free_misused(p);
}

static void twice_a_large_one_with_others_between(void)
{
    enum { OTHERS = 200 };
    static void *others[OTHERS];
    void *const p = small(400000);
    for (size_t i = 0; i < OTHERS; i++) {
        others[i] = small(10 + i * 10);
    }
    tslab_free(p);
    for (size_t i = 0; i < OTHERS; i++) {
        tslab_free(others[i]);
    }
    free_misused(p);
}

/* Pointers that are no object's. */

static void foreign_stack(void)
{
    long long on_stack[4] = { 0 };
    tslab_free(small(10));
    free_misused(keep(on_stack));
}

static void foreign_static(void)
{
    static long long in_data[4];
    free_misused(keep(in_data)); /* before anything was allocated */
}

static void foreign_heap(void)
{
    tslab_free(small(10));
    free_misused(malloc(100)); /* of the system's malloc */
}

static void foreign_small_number(void)
{
    tslab_free(small(10));
    free_misused((void *)unseen(4096));
}

static void foreign_great_number(void)
{
    tslab_free(small(10));
    free_misused((void *)unseen(SIZE_MAX - 15));
}

static void foreign_before_the_arena(void)
{
    tslab_free(small(10));
    free_misused((void *)(arena.base - 64)); /* in the side tables */
}

static void foreign_beyond_what_is_committed(void)
{
    tslab_free(small(10));
    free_misused(arena_address((uint32_t)load_plain(&arena.committed_units)));
}

static void wild_in_unit_0(void)
{
    tslab_free(small(10));
    free_misused(arena_address(0) + 64);
}

static void wild_in_unused_units(void)
{
    tslab_free(small(10));
    free_misused(arena_address((uint32_t)arena.committed_units - 3));
}

static void interior_of_a_large_one(void)
{
    free_misused((char *)small(400000) + 16);
}

static void interior_of_a_large_one_far_in(void)
{
    free_misused((char *)small(400000) + 50000);
}

static void interior_of_a_large_one_by_one(void)
{
    free_misused((char *)small(400000) + 1);
}

static void interior_flushed(char *p)
{
    misused(p);
    tslab_free(p);
    (void)tslab_trim(); /* where a release build sees it */
}

static void interior_by_16(void)
{
    interior_flushed((char *)keep_slab(64) + 16);
}

static void interior_by_1(void)
{
    interior_flushed((char *)keep_slab(64) + 1);
}

static void interior_by_8_of_the_smallest(void)
{
    interior_flushed((char *)keep_slab(16) + 8);
}

static void interior_of_the_largest_class(void)
{
    interior_flushed((char *)keep_slab(SMALL_MAX - SEAL_BYTES) + UNIT_BYTES);
}

static void interior_in_the_tail(void)
{
    char *const p = keep_slab(48);
    const uint32_t first = arena.units[arena_unit(p)].first;
    interior_flushed(arena_address(first) + UNIT_BYTES - 16); /* 341 slots of 48 bytes leave 16 */
}

/* Other calls with such pointers. */

static void realloc_foreign(void)
{
    long long on_stack[4] = { 0 };
    tslab_free(small(10));
    void *const p = keep(on_stack);
    misused(p);
    (void)keep(tslab_realloc(p, 100));
}

static void realloc_of_a_freed_large_one(void)
{
    void *const p = small(400000);
    tslab_free(p);
    misused(p);
    (void)keep(tslab_realloc(p, 800000));
}

static void realloc_to_0_after_free(void)
{
    void *const p = small(100);
    tslab_free(p);
    misused(p);
    (void)keep(tslab_realloc(p, 0));
}

static void realloc_after_free(void)
{
    void *const p = keep_slab(64);
    tslab_free(p);
    misused(p);
    (void)keep(tslab_realloc(p, 1000));
    (void)tslab_trim();
}

static void realloc_interior(void)
{
    void *const p = (char *)keep_slab(64) + 16;
    misused(p);
    (void)keep(tslab_realloc(p, 1000));
}

static void usable_size_foreign(void)
{
    static long long in_data[4];
    tslab_free(small(10));
    misused(in_data);
    (void)tslab_usable_size(in_data);
}

static void usable_size_interior(void)
{
    void *const p = (char *)keep_slab(64) + 1;
    misused(p);
    (void)tslab_usable_size(p);
}

static void usable_size_of_a_freed_large_one(void)
{
    void *const p = small(400000);
    tslab_free(p);
    misused(p);
    (void)tslab_usable_size(p);
}

static void usable_size_of_a_freed_one(void)
{
    void *const p = keep_slab(64);
    tslab_free(p);
    (void)tslab_trim();
    misused(p);
    (void)tslab_usable_size(p);
}

/* What is no misuse. */

static void rightful_use(void)
{
    tslab_free(NULL);
    CHECK(tslab_usable_size(NULL) == 0);
    void *const p = small(0);
    void *const q = small(0);
    CHECK(p != q);
    tslab_free(p);
    tslab_free(q);
    for (size_t size = 1; size < 200000; size += size / 3 + 1) {
        void *const large = tslab_realloc(small(size), size * 2);
        CHECK(large != NULL && tslab_usable_size(large) >= size * 2);
        tslab_free(large);
        tslab_free(small(size));
    }
}

/* Without checks, and in a checked library. */
static const struct misuse cases[] = {
    MISUSE_OF(64, twice_in_a_row, DOUBLE, DOUBLE),
    MISUSE_OF(SMALL_MAX - SEAL_BYTES, twice_in_a_row_of_each_class, DOUBLE, DOUBLE),
    MISUSE_OF(100, twice_in_a_row_after_an_allocation, DOUBLE, DOUBLE),
    MISUSE_OF(48, twice_with_others_between, COMPLETES, DOUBLE),
    MISUSE_OF(64, twice_after_it_went_to_its_slab, DOUBLE, DOUBLE),
    MISUSE_OF(64, twice_within_a_flush, DOUBLE, DOUBLE),
    MISUSE(twice_after_the_slab_was_recycled, DOUBLE_OR_WILD, DOUBLE_OR_WILD),
    MISUSE_OF(48, twice_by_two_threads, DOUBLE, DOUBLE),
    MISUSE_OF(48, twice_in_a_row_by_a_stranger, DOUBLE, DOUBLE),
    MISUSE_OF(48, twice_by_a_stranger_with_another_between, DOUBLE, DOUBLE),
    MISUSE_OF(64, twice_at_the_end_of_a_thread, DOUBLE, DOUBLE),
    MISUSE_OF(64, twice_among_what_is_mixed, DOUBLE, DOUBLE),
    MISUSE(twice_a_large_one, DOUBLE_OR_WILD, DOUBLE_OR_WILD),
    MISUSE(twice_a_large_one_with_others_between, DOUBLE_OR_WILD, DOUBLE_OR_WILD),
    MISUSE(foreign_stack, FOREIGN, FOREIGN),
    MISUSE(foreign_static, FOREIGN, FOREIGN),
    MISUSE(foreign_heap, FOREIGN, FOREIGN),
    MISUSE(foreign_small_number, FOREIGN, FOREIGN),
    MISUSE(foreign_great_number, FOREIGN, FOREIGN),
    MISUSE(foreign_before_the_arena, FOREIGN, FOREIGN),
    MISUSE(foreign_beyond_what_is_committed, FOREIGN, FOREIGN),
    MISUSE(wild_in_unit_0, DOUBLE_OR_WILD, DOUBLE_OR_WILD),
    MISUSE(wild_in_unused_units, DOUBLE_OR_WILD, DOUBLE_OR_WILD),
    MISUSE_OF(400000, interior_of_a_large_one, INTERIOR, INTERIOR),
    MISUSE_OF(400000, interior_of_a_large_one_far_in, INTERIOR, INTERIOR),
    MISUSE_OF(400000, interior_of_a_large_one_by_one, INTERIOR, INTERIOR),
    MISUSE_OF(64, interior_by_16, INTERIOR, INTERIOR),
    MISUSE_OF(64, interior_by_1, INTERIOR, INTERIOR),
    MISUSE_OF(16, interior_by_8_of_the_smallest, INTERIOR, INTERIOR),
    MISUSE_OF(SMALL_MAX - SEAL_BYTES, interior_of_the_largest_class, INTERIOR, INTERIOR),
    MISUSE_OF(48, interior_in_the_tail, INTERIOR, INTERIOR),
    MISUSE_OF(64, interior_among_what_is_mixed, INTERIOR, INTERIOR),
    MISUSE(realloc_foreign, FOREIGN, FOREIGN),
    MISUSE(realloc_of_a_freed_large_one, DOUBLE_OR_WILD, DOUBLE_OR_WILD),
    MISUSE_OF(100, realloc_to_0_after_free, DOUBLE, DOUBLE),
    MISUSE_OF(64, realloc_after_free, DOUBLE, DOUBLE),
    MISUSE_OF(64, realloc_interior, INTERIOR, INTERIOR),
    MISUSE(usable_size_foreign, FOREIGN, FOREIGN),
    MISUSE_OF(64, usable_size_interior, INTERIOR, INTERIOR),
    MISUSE(usable_size_of_a_freed_large_one, DOUBLE_OR_WILD, DOUBLE_OR_WILD),
    MISUSE_OF(64, usable_size_of_a_freed_one, COMPLETES, DOUBLE),
    MISUSE(rightful_use, COMPLETES, COMPLETES),
};

/* What a place for so many bytes has for its user. */
static size_t bytes_for(size_t size)
{
    const size_t room = guard_room(size);
    return (room <= SMALL_MAX ? class_geometry[class_of_size(room)].size : round_up(room, os_page_bytes())) -
           SEAL_BYTES;
}

static void begin(void)
{
}

int main(int argc, char **argv)
{
    static const struct misuse_place place = { "in the process", begin, false };
    const struct misuse_table table = {
        .cases = cases, .count = COUNT_OF(cases), .places = &place, .place_count = 1, .usable = bytes_for
    };
    return misuse_run(&table, NULL, argc, argv);
}
