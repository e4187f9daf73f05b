/* Runs cases in processes of their own, which start from the same state each time: what one does, it does again. */
#ifndef SUPERVISOR_H
#define SUPERVISOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where the memory of the library lies decides where aligned objects do: starts the program again, without the system's
 * random addresses, where that is allowed. */
void supervisor_begin(char **argv);

struct outcome {
    bool good;
    uint64_t operation; /* else: the record that it failed in; the count of records: at the end */
    char said[4096];    /* and what it said, without the lines that were asked for */
};

/* Runs the case. A crash, a hang, an exit in the middle and anything said on stderr that nobody asked for are failures.
 */
struct outcome supervised_run(const uint8_t *records, size_t bytes);

/* Says on stderr what has failed. */
void supervisor_say(const char *name, const struct outcome *outcome);

/* Writes the records to a file, or ends the program with a sentence. */
void supervisor_save(const char *path, const uint8_t *records, size_t bytes);

#endif
