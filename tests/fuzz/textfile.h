/* Files of operations as text, for the repository: they are read by people, and stay what they are when the weights of
 * the decoder change. A line is an operation (name, way, place, index, value in hexadecimal); the first is `setup` and
 * the bytes of the first record; # begins a comment. */
#ifndef TEXTFILE_H
#define TEXTFILE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Reads a file of records or of text into the buffer. Returns the bytes of whole records. Ends the program with a
 * sentence when it cannot. */
size_t textfile_load(const char *path, uint8_t *records, size_t room);

/* Writes the records as text. */
void textfile_write(FILE *file, const uint8_t *records, size_t bytes);

#endif
