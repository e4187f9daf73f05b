/* Random operations from a seed.
 *
 *   fuzz_seeded SEED COUNT [--canary]
 *   fuzz_seeded SEED SECONDSs
 *
 * Does COUNT operations, or as many as fit into the time, in cases, short ones and long ones, each from a seed of its
 * own. The first is SEED. At the first failure it says which seed and operation it was, and writes fuzz-SEED.bin for
 * fuzz_replay: exit code 1. With --canary a failure is what is wanted: 0, else 1. */
#include "operation.h"
#include "supervisor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LONG_CASE = 50000, SHORT_CASE = 4000 };

static uint8_t records[(LONG_CASE + 1) * RECORD_BYTES];

/* The case of a seed, whatever its length: a shorter one is the beginning of a longer one. */
static size_t make_case(uint64_t seed, size_t operations)
{
    uint64_t state = (seed + 1) * 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i <= operations; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        const uint64_t word = state * 0x2545f4914f6cdd1du;
        for (size_t byte = 0; byte < RECORD_BYTES; byte++) {
            records[i * RECORD_BYTES + byte] = (uint8_t)(word >> 8 * byte);
        }
    }
    return (operations + 1) * RECORD_BYTES;
}

/* A failure at the end needs all records, any other none beyond its own. */
static void say_and_save(uint64_t seed, size_t bytes, const struct outcome *outcome)
{
    char name[64], path[64];
    snprintf(name, sizeof name, "seed %llu", (unsigned long long)seed);
    snprintf(path, sizeof path, "fuzz-%llu.bin", (unsigned long long)seed);
    supervisor_say(name, outcome);
    const size_t needed = (outcome->operation + 1) * RECORD_BYTES;
    supervisor_save(path, records, needed < bytes ? needed : bytes);
    fprintf(stderr, "fuzz: fuzz_replay %s fails again; fuzz_replay --shrink %s OUT makes it short\n", path, path);
}

int main(int argc, char **argv)
{
    supervisor_begin(argv);
    const bool canary = argc == 4 && strcmp(argv[3], "--canary") == 0;
    if (argc != 3 && !canary) {
        fprintf(stderr, "usage: fuzz_seeded SEED COUNT [--canary] | SEED SECONDSs\n");
        return 2;
    }
    uint64_t seed = strtoull(argv[1], NULL, 10);
    size_t done = 0;
    char *unit;
    const uint64_t amount = strtoull(argv[2], &unit, 10);
    const bool by_time = strcmp(unit, "s") == 0;
    if (amount == 0 || (*unit != 0 && !by_time)) {
        fprintf(stderr, "fuzz: %s is no amount of work\n", argv[2]);
        return 2;
    }
    const time_t end = time(NULL) + (time_t)amount;
    for (const size_t count = by_time ? SIZE_MAX : amount; done < count && (!by_time || time(NULL) < end); seed++) {
        const size_t most = seed % 8 == 0 ? LONG_CASE : SHORT_CASE;
        const size_t operations = count - done < most ? count - done : most;
        const size_t bytes = make_case(seed, operations);
        const struct outcome outcome = supervised_run(records, bytes);
        done += outcome.good ? operations : outcome.operation;
        if (!outcome.good && canary) {
            printf("found after %zu operations: %s", done, outcome.said);
            return 0;
        }
        if (!outcome.good) {
            say_and_save(seed, bytes, &outcome);
            printf("%zu operations, the last of which failed\n", done);
            return 1;
        }
    }
    printf("%zu operations, all well\n", done);
    return canary ? 1 : 0;
}
