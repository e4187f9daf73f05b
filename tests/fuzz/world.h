/* A case: records of operations, done from the beginning to the end on a fresh world. */
#ifndef WORLD_H
#define WORLD_H

#include <stddef.h>
#include <stdint.h>

/* Does all operations of the records (less than a record at the end is ignored), then ends everything and checks that
 * nothing is left. An error of the library ends the program. Not again in the child of a fork. */
void world_run(const uint8_t *records, size_t bytes);

#endif
