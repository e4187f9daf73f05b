/* Every function appends by text_part, which cuts off what does not fit: so no text can overrun its buffer. */
#include "os/text.h"

#include "os/os.h"

#include <string.h>

void text_part(struct text *text, const char *start, size_t length)
{
    const size_t left = text->capacity - text->length;
    const size_t n = length < left ? length : left;
    memcpy(text->buffer + text->length, start, n);
    text->length += n;
}

void text_string(struct text *text, const char *string)
{
    text_part(text, string, strlen(string));
}

void text_foreign_part(struct text *text, const char *start, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        const unsigned char byte = (unsigned char)start[i];
        text_part(text, byte < 0x20 || byte == 0x7f ? "?" : start + i, 1);
    }
}

void text_foreign(struct text *text, const char *string)
{
    text_foreign_part(text, string, strlen(string));
}

static void text_digits(struct text *text, uint64_t number, unsigned base)
{
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = "0123456789abcdef"[number % base];
        number /= base;
    } while (number != 0);
    text_part(text, digits + at, sizeof digits - at);
}

void text_number(struct text *text, uint64_t number)
{
    text_digits(text, number, 10);
}

void text_mib(struct text *text, uint64_t bytes)
{
    const uint64_t hundredths = (bytes >> 20) * 100 + (((bytes & 0xfffff) * 100 + (1 << 19)) >> 20);
    text_digits(text, hundredths / 100, 10);
    const char decimals[3] = { '.', (char)('0' + hundredths / 10 % 10), (char)('0' + hundredths % 10) };
    text_part(text, decimals, sizeof decimals);
}

void text_scaled(struct text *text, uint64_t bytes)
{
    unsigned scale = 0;
    while (scale < 4 && bytes != 0 && bytes % 1024 == 0) {
        bytes /= 1024;
        scale++;
    }
    text_number(text, bytes);
    text_part(text, &"KMGT"[scale - (scale != 0)], scale != 0);
}

void text_hex(struct text *text, uintptr_t number)
{
    text_string(text, "0x");
    text_digits(text, number, 16);
}

void text_right(struct text *text, const char *string, unsigned width)
{
    for (size_t n = strlen(string); n < width; n++) {
        text_part(text, " ", 1);
    }
    text_string(text, string);
}

void text_process(struct text *text)
{
    enum { NAME_MOST = 32 };
    char name[NAME_MOST + 1] = { 0 };
    const char *const program = os_program_name();
    memcpy(name, program, strnlen(program, NAME_MOST));
    text_string(text, "tslab[");
    text_number(text, os_process_id());
    text_string(text, " ");
    text_foreign(text, name);
    text_string(text, "]: ");
}

void text_send(struct text *text, int fd)
{
    text->lost = text->lost || !os_write(fd, text->buffer, text->length);
    text->length = 0;
}

void text_send_part(struct text *text, int fd)
{
    if (text->length > REPORT_PART_BYTES) {
        text_send(text, fd);
    }
}
