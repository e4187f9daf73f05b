/* How the library is set up for a case: its first record says it, byte by byte, where 0 is what most programs have.
 *
 *   0 retain_bytes   1 purge_delay_ms   2 epoch_policy, with 4 as its number   3 how many objects live at once
 *   5 magazines, arena_bytes and stats   6 by variables of their own, or by TSLAB_OPTIONS; limits of labels */
#ifndef SETTINGS_H
#define SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum work_mode { MODE_NEVER, MODE_PER_REQUEST, MODE_BATCH, MODE_INTERVAL, MODE_MANUAL, MODES };

struct settings {
    uint64_t retain_bytes, purge_delay_ms, arena_bytes; /* arena_bytes 0: not set */
    unsigned magazines, stats;
    enum work_mode mode;
    uint64_t mode_number;
    size_t objects_most;
    bool as_a_list, limits_labels;
};

struct settings settings_of(const uint8_t *record);

/* Puts them into the environment, for a program that is about to start. Variables that a person has set stay, but for
 * those that the model has to know. */
void settings_export(const struct settings *settings);

#endif
