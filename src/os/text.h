/* Text into a fixed buffer, for messages and reports. No stdio: it would allocate. What does not fit is cut off. */
#ifndef TSLAB_OS_TEXT_H
#define TSLAB_OS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {
    char *buffer;
    size_t capacity;
    size_t length; /* the buffer is not terminated by a zero */
    bool lost;     /* a part could not be sent: what comes after it is lost, too */
};

void text_string(struct text *text, const char *string);
void text_part(struct text *text, const char *start, size_t length);
/* A string of the program's: control characters, by which it could pass for lines of ours, become question marks. */
void text_foreign(struct text *text, const char *string);
/* A decimal number, right-aligned in width columns. */
void text_number(struct text *text, uint64_t number, unsigned width);
void text_hex(struct text *text, uintptr_t number);
/* A string, left-aligned in width columns. */
void text_column(struct text *text, const char *string, unsigned width);
/* A string, right-aligned in width columns. */
void text_right(struct text *text, const char *string, unsigned width);

/* Threads may have little stack, so a long report is written in parts. Its buffer has REPORT_BYTES; text_send_part
 * writes it to a file descriptor and empties it, once it holds so much that the next part might not fit, and text_send
 * does so in any case. */
enum { REPORT_BYTES = 2048, REPORT_PART_BYTES = 1024 };
void text_send_part(struct text *text, int fd);
void text_send(struct text *text, int fd);

#endif
