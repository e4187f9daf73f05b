/* Text into a fixed buffer, for messages and reports. Text that does not fit is cut off. stdio is not used, because it
 * would allocate. Threads: a text belongs to one. */
#ifndef TSLAB_OS_TEXT_H
#define TSLAB_OS_TEXT_H

#include "base/build.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {
    char *buffer;
    size_t capacity;
    size_t length; /* bytes in use; no zero terminates them */
    bool lost;     /* a part could not be sent, and no later part is sent */
};

void text_string(struct text *text, const char *string);
void text_part(struct text *text, const char *start, size_t length);
/* A string that the program chose. Control characters become question marks, so that it cannot imitate our lines. */
void text_foreign(struct text *text, const char *string);
void text_foreign_part(struct text *text, const char *start, size_t length);
/* A decimal number. */
void text_number(struct text *text, uint64_t number);
/* Bytes in MiB with two decimals. */
void text_mib(struct text *text, uint64_t bytes);
/* Bytes as options take them: with the largest of K, M, G and T that leaves a whole number. */
void text_scaled(struct text *text, uint64_t bytes);
/* A hexadecimal number behind 0x. */
void text_hex(struct text *text, uintptr_t number);
/* A string, right-aligned in width columns. */
void text_right(struct text *text, const char *string, unsigned width);

/* "tslab[<process> <program>]: ", the start of a line that may stand among those of other processes. */
void text_process(struct text *text);

/* Threads may have little stack, so a long report is written in parts. Its buffer has REPORT_BYTES. text_send writes it
 * to a file descriptor and empties it. text_send_part does so only when the buffer holds more than REPORT_PART_BYTES,
 * because the next part might not fit: it has at most 512 bytes. */
enum { REPORT_PART_BYTES = 768, REPORT_BYTES = REPORT_PART_BYTES + 512 };
void text_send_part(struct text *text, int fd);
void text_send(struct text *text, int fd);

#endif
