/* Text into a fixed buffer. */
#include "child.h"

#include "os/text.h"

enum { CAPACITY = 64 };

static char buffer[CAPACITY + 1];

static struct text fresh(size_t capacity)
{
    memset(buffer, '#', sizeof buffer);
    return (struct text){ .buffer = buffer, .capacity = capacity };
}

static void text_is(const struct text *text, const char *wanted)
{
    assert_int_equal(text->length, strlen(wanted));
    assert_memory_equal(text->buffer, wanted, text->length);
    assert_int_equal(buffer[text->length], '#');
}

TEST(numbers_are_written_in_decimal)
{
    static const struct {
        uint64_t number;
        const char *wanted;
    } rows[] = {
        { 0, "0" },
        { 10, "10" },
        { 12345, "12345" },
        { UINT64_MAX, "18446744073709551615" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct text text = fresh(CAPACITY);
        text_number(&text, rows[i].number);
        text_is(&text, rows[i].wanted);
    }
}

TEST(bytes_are_written_in_mib)
{
    static const struct {
        uint64_t bytes;
        const char *wanted;
    } rows[] = {
        { 0, "0.00" },
        { (1 << 20) + (1 << 19), "1.50" },
        { 5242, "0.00" },
        { 5243, "0.01" },
        { (7 << 20) - 1, "7.00" },
        { (uint64_t)3 << 50, "3221225472.00" },
        { UINT64_MAX, "17592186044416.00" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct text text = fresh(CAPACITY);
        text_mib(&text, rows[i].bytes);
        text_is(&text, rows[i].wanted);
    }
}

TEST(addresses_are_written_in_hex)
{
    struct text text = fresh(CAPACITY);
    text_hex(&text, 0);
    text_string(&text, " ");
    text_hex(&text, 0x7f00abcdef10);
    text_string(&text, " ");
    text_hex(&text, UINTPTR_MAX);
    text_is(&text, "0x0 0x7f00abcdef10 0xffffffffffffffff");
}

TEST(what_could_pass_for_a_line_of_ours_cannot)
{
    struct text text = fresh(CAPACITY);
    text_foreign(&text, "a\n\x1b[2J\x7f\t z\xc3\xa4");
    text_is(&text, "a??[2J?? z\xc3\xa4");
}

TEST(columns_are_filled_with_spaces)
{
    struct text text = fresh(CAPACITY);
    text_right(&text, "ab", 4);
    text_string(&text, "|");
    text_right(&text, "abcde", 4);
    text_part(&text, "xyz", 2);
    text_is(&text, "  ab|abcdexy");
}

TEST(what_does_not_fit_is_cut_off)
{
    for (size_t capacity = 0; capacity <= 12; capacity++) {
        struct text text = fresh(capacity);
        text_string(&text, "abc");
        text_right(&text, "12", 4);
        text_right(&text, "de", 5);
        assert_int_equal(text.length, capacity);
        assert_memory_equal(buffer, "abc  12   de", capacity);
        assert_int_equal(buffer[capacity], '#');
    }
}
