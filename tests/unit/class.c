/* Size classes: every size and every alignment, every offset of every slab. */
#include "child.h"

#include "common/guard.h"
#include "common/size_class.h"
#include "malloc/current_thread.h"
#include "space/depot.h"

#include <tslab/tslab.h>

TEST(sizes_get_the_smallest_class_that_fits)
{
    for (size_t size = 0; size <= SMALL_MAX; size++) {
        const unsigned class = class_of_size(size);
        assert_in_range(class, 1, CLASS_LIMIT - 1);
        assert_true(class_geometry[class].size >= size);
        assert_true(class == 1 || class_geometry[class - 1].size < size);
    }
    assert_int_equal(class_geometry[CLASS_LIMIT - 1].size, SMALL_MAX);
}

static unsigned smallest_aligned(size_t size, size_t alignment)
{
    for (unsigned class = 1; class < CLASS_LIMIT; class ++) {
        if (class_geometry[class].size >= size && class_geometry[class].size % alignment == 0) {
            return class;
        }
    }
    return CLASS_NONE;
}

TEST(sizes_and_alignments_get_the_smallest_class_that_fits)
{
    for (size_t alignment = 1; alignment <= UNIT_BYTES; alignment *= 2) {
        for (size_t size = 0; size <= SMALL_MAX; size++) {
            assert_int_equal(class_of_aligned(size, alignment), smallest_aligned(size, alignment));
        }
        assert_int_equal(class_of_aligned(SMALL_MAX + 1, alignment), CLASS_NONE);
        assert_int_equal(class_of_aligned(SIZE_MAX, alignment), CLASS_NONE);
    }
    assert_int_equal(class_of_aligned(1, 2 * UNIT_BYTES), CLASS_NONE);
}

static unsigned least_slots(size_t size)
{
    return size <= 1024 ? 32 : size <= 4096 ? 16 : size <= 16384 + CACHE_LINE ? 8 : 1;
}

/* Slots that have the shortest slab, without a tail where they are no power of two and a line. */
enum { SHORT_FROM = 16384 };

static bool has_line(size_t size)
{
    return size > SHORT_FROM && is_power_of_two(size - CACHE_LINE);
}

static size_t greatest_divisor(size_t a, size_t b)
{
    return b == 0 ? a : greatest_divisor(b, a % b);
}

/* Each slot of a slab starts a line after the one before it, modulo 4 KiB, and a slab has several. */
TEST(great_powers_of_two_start_in_many_sets)
{
    for (size_t size = 16384; size <= SMALL_MAX; size *= 2) {
        const struct class_geometry *geometry = &class_geometry[class_of_size(size)];
        assert_int_equal(geometry->size, size + CACHE_LINE);
        assert_true(geometry->slots >= 2);
    }
}

TEST(slabs_waste_little_and_hold_what_they_say)
{
    for (unsigned class = 1; class < CLASS_LIMIT; class ++) {
        const struct class_geometry *geometry = &class_geometry[class];
        const size_t bytes = (size_t)geometry->units * UNIT_BYTES;
        const size_t used = (size_t)geometry->slots * geometry->size;
        assert_true(used <= bytes && bytes - used < geometry->size);
        assert_true((bytes - used) * 100 < bytes * (has_line(geometry->size) ? 6 : 3));
        if (geometry->size > SHORT_FROM && !has_line(geometry->size)) {
            assert_int_equal(geometry->units, geometry->size / greatest_divisor(geometry->size, UNIT_BYTES));
        }
        assert_true(geometry->slots >= least_slots(geometry->size));
        assert_int_equal(geometry->size % GRANULE_BYTES, 0);
        assert_int_equal(geometry->shares_lines, geometry->size < CACHE_LINE);
        assert_int_equal(geometry->words, (geometry->slots + WORD_SLOTS - 1) / WORD_SLOTS);
        assert_true(geometry->words <= BITMAP_WORDS);
        unsigned slots = 0;
        for (unsigned word = 0; word < geometry->words; word++) {
            slots += bit_count(class_word_mask(geometry, word));
        }
        assert_int_equal(slots, geometry->slots);
    }
}

TEST(the_reciprocal_divides_every_offset)
{
    for (unsigned class = 1; class < CLASS_LIMIT; class ++) {
        const struct class_geometry *geometry = &class_geometry[class];
        const uint32_t bytes = geometry->units * UNIT_BYTES;
        for (uint32_t offset = 0; offset < bytes; offset++) {
            assert_int_equal((offset * geometry->reciprocal) >> 40, offset / geometry->size);
        }
    }
}

/* A slab of the class, attached to nobody's heap. */
static struct run *slab_for_test(unsigned class)
{
    tslab_free(tslab_malloc(1)); /* starts the engine */
    bool clean;
    const uint32_t first = depot_take(class_geometry[class].units, 1, &clean);
    assert_int_not_equal(first, 0);
    slab_open(first, class, epoch_process.id, AFFINITY_PROCESS, false);
    return &arena.runs[first];
}

struct place {
    unsigned class;
    uint32_t offset;
};

static void slot_at_place(const void *argument)
{
    const struct place *place = argument;
    char *const start = arena_address(run_index(slab_for_test(place->class)));
    /* The address goes first, so that the parent can compare it with the message. */
    char text[64];
    const int length = snprintf(text, sizeof text, "%p\n", (void *)(start + place->offset));
    CHECK(write(STDERR_FILENO, text, (size_t)length) == length);
    (void)slot_of(start + place->offset, place->class);
}

TEST(an_address_between_slots_ends_the_program)
{
    static const unsigned classes[] = { 1, 3, 5, 20, CLASS_LIMIT - 1 };
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
        const struct class_geometry *geometry = &class_geometry[classes[i]];
        const uint32_t tail = geometry->slots * geometry->size;
        const uint32_t offsets[] = { 1, 8, geometry->size - 1, geometry->size + 1, tail - 1, tail };
        for (size_t k = 0; k < sizeof offsets / sizeof offsets[0]; k++) {
            if (offsets[k] >= geometry->units * UNIT_BYTES) {
                continue; /* this class has no tail */
            }
            const struct place place = { classes[i], offsets[k] };
            const struct child child = child_run(slot_at_place, &place);
            char said[192], address[32];
            assert_int_equal(sscanf(child.said, "%31s", address), 1);
            snprintf(said, sizeof said, "%s\ntslab[%d %.32s]: free of an interior pointer %s (%u bytes)\n", address,
                     (int)child.pid, program_invocation_short_name, address, geometry->size - SEAL_BYTES);
            assert_string_equal(child.said, said);
            assert_true(child_aborted(&child));
        }
    }
}

TEST(every_slot_is_found_by_its_address)
{
    for (unsigned class = 1; class < CLASS_LIMIT; class ++) {
        const struct class_geometry *geometry = &class_geometry[class];
        struct run *slab = slab_for_test(class);
        const uint32_t first = run_index(slab);
        for (uint32_t i = 0; i < geometry->slots; i++) {
            char *const p = arena_address(first) + (size_t)i * geometry->size;
            assert_int_equal(load_plain(&arena.units[arena_unit(p)].tag), tag_of(class, AFFINITY_PROCESS));
            const struct slot slot = slot_of(p, class);
            assert_ptr_equal(slot.slab, slab);
            assert_int_equal(slot.word, i / WORD_SLOTS);
            assert_true(slot.mask == (uint64_t)1 << (i % WORD_SLOTS));
        }
        assert_true(slab_has_all(slab, geometry));
        partial_detach(slab); /* all slots are in it, so this recycles it */
        assert_int_equal(load_plain(&arena.units[first].tag), TAG_NONE);
    }
}
