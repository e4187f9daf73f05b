/* The ring of the timeline: what is read is whole, and the newest records are there, however many threads write. */
#include "child.h"

#include "common/record_ring.h"

#include <pthread.h>
#include <string.h>

enum {
    THREADS = 4,
    RECORDS = 64,
    EACH = 20000,
    ENOUGH = 1000, /* whole records that are read beside the writers */
    BYTES = RING_HEADER_BYTES + RECORDS * (int)sizeof(struct ring_record)
};

static struct ring ring;

static void setup(void)
{
    static _Alignas(RING_HEADER_BYTES) char memory[BYTES];
    memset(memory, 0, sizeof memory);
    ring_begin(&ring, memory, sizeof memory);
}

/* Every word of a record follows from the first one. */
static bool write_one(uint64_t of)
{
    uint64_t word[RING_WORDS];
    for (unsigned i = 0; i < RING_WORDS; i++) {
        word[i] = of + i;
    }
    return ring_write(&ring, of + 100, of + 200, word);
}

static void check_entry(const struct ring_entry *entry)
{
    const uint64_t of = entry->word[0];
    assert_int_equal(entry->when_ns, of + 100);
    assert_int_equal(entry->what, of + 200);
    for (unsigned i = 0; i < RING_WORDS; i++) {
        assert_int_equal(entry->word[i], of + i);
    }
}

static void an_empty_ring_has_no_record(void **state)
{
    struct ring_entry entry;
    (void)state;
    setup();
    assert_int_equal(ring.mask, RECORDS - 1);
    for (uint64_t place = 0; place < RECORDS; place++) {
        assert_false(ring_read(&ring, place, &entry));
    }
}

static void the_newest_overwrite_the_oldest(void **state)
{
    (void)state;
    setup();
    for (uint64_t n = 0; n < 3 * RECORDS + 5; n++) {
        assert_true(write_one(n * 1000));
    }
    for (uint64_t place = 0; place < RECORDS; place++) {
        struct ring_entry entry;
        assert_true(ring_read(&ring, place, &entry));
        check_entry(&entry);
        assert_int_equal(entry.number & ring.mask, place);
        assert_int_equal(entry.word[0], entry.number * 1000);
        assert_true(entry.number >= 2 * RECORDS + 5);
    }
    assert_int_equal(load_plain(&ring.header->dropped), 0);
}

static void who_comes_late_gives_up(void **state)
{
    struct ring_entry entry;
    (void)state;
    setup();
    /* A thread that stands in the middle of record 0. */
    store_plain(&ring.header->next, RECORDS);
    store_plain(&ring.records[0].sequence, 1);
    assert_false(write_one(7)); /* record RECORDS, of the same place */
    assert_false(ring_read(&ring, 0, &entry));
    /* One that finds a newer record. */
    store_plain(&ring.records[1].sequence, 2 * (RECORDS + 1 + RECORDS) + 2);
    assert_false(write_one(7));
    assert_int_equal(load_plain(&ring.header->dropped), 2);
    assert_int_equal(load_plain(&ring.header->next), RECORDS + 2);
}

static atomic_u32 read_enough;
static atomic_u64 tried;
static atomic_u64 written;

/* At least EACH, so that places are gone round; and until the reader has what it came for. */
static void *keep_writing(void *number)
{
    uint64_t done = 0;
    uint64_t i = 0;
    for (; i < EACH || load_acquire(&read_enough) == 0; i++) {
        done += write_one(((uintptr_t)number << 40) + i * 1000);
    }
    counter_add_shared(&tried, i);
    counter_add_shared(&written, done);
    return NULL;
}

static void what_is_read_beside_writers_is_whole(void **state)
{
    pthread_t threads[THREADS];
    uint64_t whole = 0;
    (void)state;
    setup();
    for (uintptr_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, keep_writing, (void *)(i + 1)), 0);
    }
    while (whole < ENOUGH) {
        for (uint64_t place = 0; place < RECORDS; place++) {
            struct ring_entry entry;
            if (ring_read(&ring, place, &entry)) {
                check_entry(&entry);
                whole++;
            }
        }
    }
    store_release(&read_enough, 1);
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_true(load_plain(&tried) >= (uint64_t)THREADS * EACH);
    assert_int_equal(load_plain(&ring.header->next), load_plain(&tried));
    assert_int_equal(load_plain(&written) + load_plain(&ring.header->dropped), load_plain(&tried));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_ring_has_no_record),
        cmocka_unit_test(the_newest_overwrite_the_oldest),
        cmocka_unit_test(who_comes_late_gives_up),
        cmocka_unit_test(what_is_read_beside_writers_is_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
