#include "textfile.h"

#include "operation.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void cannot_read(const char *path, unsigned line, const char *why)
{
    fprintf(stderr, "fuzz: %s:%u: %s\n", path, line, why);
    exit(2);
}

static bool parse_operation(const char *line, struct operation *operation)
{
    char name[32];
    if (sscanf(line, "%31s %u %u %u %x", name, &operation->way, &operation->place, &operation->index,
               &operation->value) != 5 ||
        operation->way > 7 || operation->place > 31 || operation->index > 0xffff) {
        return false;
    }
    unsigned kind = 0;
    while (kind < KINDS && strcmp(operation_name((enum kind)kind), name) != 0) {
        kind++;
    }
    operation->kind = (enum kind)kind;
    return kind < KINDS && kind != RARE;
}

static bool parse_setup(const char *line, uint8_t *record)
{
    unsigned bytes[RECORD_BYTES] = { 0 };
    const int n = sscanf(line, "setup %u %u %u %u %u %u %u %u", &bytes[0], &bytes[1], &bytes[2], &bytes[3], &bytes[4],
                         &bytes[5], &bytes[6], &bytes[7]);
    for (size_t i = 0; i < RECORD_BYTES; i++) {
        record[i] = (uint8_t)bytes[i];
    }
    return n > 0;
}

static size_t load_text(const char *path, FILE *file, uint8_t *records, size_t room)
{
    char line[200];
    size_t used = 0;
    for (unsigned number = 1; fgets(line, sizeof line, file) != NULL; number++) {
        struct operation operation;
        if (line[0] == '#' || line[0] == '\n') {
            continue;
        }
        if (used + RECORD_BYTES > room) {
            cannot_read(path, number, "the file is too long");
        }
        if (used == 0 ? !parse_setup(line, records) : !parse_operation(line, &operation)) {
            cannot_read(path, number, "this is no operation");
        }
        if (used > 0) {
            operation_encode(&operation, records + used);
        }
        used += RECORD_BYTES;
    }
    return used;
}

static bool is_text(const char *path)
{
    const size_t length = strlen(path);
    return length > 4 && strcmp(path + length - 4, ".txt") == 0;
}

size_t textfile_load(const char *path, uint8_t *records, size_t room)
{
    FILE *const file = fopen(path, "rb");
    if (file == NULL) {
        cannot_read(path, 0, strerror(errno));
    }
    const size_t bytes = is_text(path) ? load_text(path, file, records, room) : fread(records, 1, room, file);
    fclose(file);
    return bytes / RECORD_BYTES * RECORD_BYTES;
}

void textfile_write(FILE *file, const uint8_t *records, size_t bytes)
{
    fprintf(file, "setup");
    for (size_t i = 0; i < RECORD_BYTES && i < bytes; i++) {
        fprintf(file, " %u", records[i]);
    }
    fprintf(file, "\n");
    for (size_t at = RECORD_BYTES; at < bytes; at += RECORD_BYTES) {
        const struct operation operation = operation_decode(records + at);
        fprintf(file, "%s %u %u %u %x\n", operation_name(operation.kind), operation.way, operation.place,
                operation.index, operation.value);
    }
}
