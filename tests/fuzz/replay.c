/* Files of operations, as fuzz_seeded and libFuzzer write them.
 *
 *   fuzz_replay FILE...           runs each in a process of its own; exit code 1 when one fails
 *   fuzz_replay --list FILE       says what the operations are
 *   fuzz_replay --shrink FILE     leaves out whatever is not needed to fail, and writes FILE.min
 *
 * What a failing case is shrunk to fails as well, perhaps in another way. */
#include "operation.h"
#include "supervisor.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { FILE_MOST = 16 << 20 };

static uint8_t *records, *candidate;

static uint8_t *buffer(void)
{
    uint8_t *const memory = mmap(NULL, FILE_MOST, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        fprintf(stderr, "fuzz: there is no memory for a file\n");
        exit(2);
    }
    return memory;
}

static size_t load(const char *path)
{
    FILE *const file = fopen(path, "rb");
    if (file == NULL) {
        fprintf(stderr, "fuzz: %s: %s\n", path, strerror(errno));
        exit(2);
    }
    const size_t bytes = fread(records, 1, FILE_MOST, file);
    fclose(file);
    return bytes / RECORD_BYTES * RECORD_BYTES;
}

static int replay(const char *path)
{
    const struct outcome outcome = supervised_run(records, load(path));
    if (!outcome.good) {
        supervisor_say(path, &outcome);
    }
    return outcome.good ? 0 : 1;
}

static int list(const char *path)
{
    const size_t bytes = load(path);
    for (size_t at = RECORD_BYTES; at < bytes; at += RECORD_BYTES) {
        const struct operation operation = operation_decode(records + at);
        printf("%6zu  %-42s way %u  place %2u  index %5u  size %zu\n", at / RECORD_BYTES,
               operation_text(operation.kind), operation.way, operation.place, operation.index,
               operation_size(operation.value));
    }
    return 0;
}

/* Fails still without the records from `from` to `to`; then they are gone. */
static bool fails_without(size_t *bytes, size_t from, size_t to)
{
    memcpy(candidate, records, from);
    memcpy(candidate + from, records + to, *bytes - to);
    const size_t shorter = from + *bytes - to;
    const struct outcome outcome = supervised_run(candidate, shorter);
    if (outcome.good) {
        return false;
    }
    const size_t needed = (outcome.operation + 1) * RECORD_BYTES;
    *bytes = needed < shorter ? needed : shorter;
    memcpy(records, candidate, *bytes);
    return true;
}

static int shrink(const char *path)
{
    size_t bytes = load(path);
    if (supervised_run(records, bytes).good) {
        fprintf(stderr, "fuzz: %s does not fail\n", path);
        return 1;
    }
    bool shorter = true;
    for (size_t part = bytes / RECORD_BYTES / 2; part > 0; part = part == 1 && shorter ? 1 : part / 2) {
        shorter = false;
        const size_t step = part * RECORD_BYTES;
        for (size_t from = RECORD_BYTES; from < bytes;) {
            const size_t to = from + step < bytes ? from + step : bytes;
            if (fails_without(&bytes, from, to)) {
                shorter = true;
            } else {
                from = to;
            }
        }
    }
    char name[4096];
    snprintf(name, sizeof name, "%s.min", path);
    supervisor_save(name, records, bytes);
    const struct outcome outcome = supervised_run(records, bytes);
    supervisor_say(name, &outcome);
    printf("%s: %zu operations\n", name, bytes / RECORD_BYTES - 1);
    return outcome.good ? 1 : 0;
}

int main(int argc, char **argv)
{
    records = buffer();
    candidate = buffer();
    if (argc == 3 && strcmp(argv[1], "--list") == 0) {
        return list(argv[2]);
    }
    if (argc == 3 && strcmp(argv[1], "--shrink") == 0) {
        return shrink(argv[2]);
    }
    int failed = argc < 2 ? 2 : 0;
    for (int i = 1; i < argc; i++) {
        failed |= replay(argv[i]);
    }
    if (argc < 2) {
        fprintf(stderr, "usage: fuzz_replay FILE... | --list FILE | --shrink FILE\n");
    }
    return failed;
}
