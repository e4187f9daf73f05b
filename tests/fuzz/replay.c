/* Files of operations: of records, as fuzz_seeded and libFuzzer write them, or of text (textfile.h).
 *
 *   fuzz_replay FILE...               runs each in a process of its own; exit code 1 when one fails
 *   fuzz_replay --text FILE           writes it as text to stdout
 *   fuzz_replay --records FILE OUT    writes it as records, for libFuzzer
 *   fuzz_replay --shrink FILE OUT     leaves out whatever is not needed to fail, and writes that as text
 *
 * A shrunk case fails as well, perhaps in another way. */
#include "operation.h"
#include "supervisor.h"
#include "textfile.h"

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
    return textfile_load(path, records, FILE_MOST);
}

static int replay(const char *path)
{
    const struct outcome outcome = supervised_run(records, load(path));
    if (!outcome.good) {
        supervisor_say(path, &outcome);
    }
    return outcome.good ? 0 : 1;
}

static int write_text(const char *path)
{
    textfile_write(stdout, records, load(path));
    return 0;
}

static int write_records(const char *path, const char *out)
{
    supervisor_save(out, records, load(path));
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

static int shrink(const char *path, const char *out)
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
    FILE *const file = fopen(out, "w");
    if (file == NULL) {
        fprintf(stderr, "fuzz: %s: %s\n", out, strerror(errno));
        return 2;
    }
    const struct outcome outcome = supervised_run(records, bytes);
    char said[sizeof outcome.said];
    memcpy(said, outcome.said, sizeof said);
    fprintf(file, "# %s\n", strtok(said, "\n"));
    textfile_write(file, records, bytes);
    fclose(file);
    supervisor_say(out, &outcome);
    printf("%s: %zu operations\n", out, bytes / RECORD_BYTES - 1);
    return outcome.good ? 1 : 0;
}

int main(int argc, char **argv)
{
    supervisor_begin(argv);
    records = buffer();
    candidate = buffer();
    if (argc == 3 && strcmp(argv[1], "--text") == 0) {
        return write_text(argv[2]);
    }
    if (argc == 4 && strcmp(argv[1], "--records") == 0) {
        return write_records(argv[2], argv[3]);
    }
    if (argc == 4 && strcmp(argv[1], "--shrink") == 0) {
        return shrink(argv[2], argv[3]);
    }
    int failed = argc < 2 ? 2 : 0;
    for (int i = 1; i < argc; i++) {
        failed |= replay(argv[i]);
    }
    if (argc < 2) {
        fprintf(stderr, "usage: fuzz_replay FILE... | --text FILE | --records FILE OUT | --shrink FILE OUT\n");
    }
    return failed;
}
