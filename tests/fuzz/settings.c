#include "settings.h"

#include "failure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct settings settings_of(const uint8_t *record)
{
    enum { MANY = 4000, MIB = 1 << 20, KIB = 1 << 10 };
    static const uint64_t retain_bytes[] = {
        512 * KIB, 0, 16 * MIB, 16 * MIB, 512 * KIB, 16 * MIB, 64 * MIB, 16 * MIB
    };
    static const uint64_t purge_delay_ms[] = { 500, 0, 20, 3600000, 500, 500, 500, 100 };
    static const size_t objects_most[] = { MANY, 100, 1000, 30 };
    const unsigned rest = record[5];
    return (struct settings){
        .retain_bytes = retain_bytes[record[0] % COUNT_OF(retain_bytes)],
        .purge_delay_ms = purge_delay_ms[record[1] % COUNT_OF(purge_delay_ms)],
        .mode = (enum work_mode)(record[2] % MODES),
        .mode_number = 1 + record[4] % 20,
        .objects_most = objects_most[record[3] % COUNT_OF(objects_most)],
        .magazines = TSLAB_CHECKED < 2 && rest % 8 != 1, /* the checked library has none */
        .arena_bytes = rest / 8 % 8 == 1   ? 8 * MIB
                       : rest / 8 % 8 == 2 ? 16 * MIB
                                           : 0,
        .stats = rest / 64 == 1   ? 1
                 : rest / 64 == 2 ? 2
                                  : 0,
        .as_a_list = record[6] % 2 == 1,
        .limits_labels = record[6] / 2 % 2 == 1,
    };
}

static void set(const char *name, uint64_t value, bool always)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    CHECK(setenv(name, text, always) == 0);
}

static void policy_text(const struct settings *settings, char *text, size_t room)
{
    static const char *const words[MODES] = { "never", "per-request", "batch-", "interval-", "manual" };
    const bool numbered = settings->mode == MODE_BATCH || settings->mode == MODE_INTERVAL;
    /* Where the clock is the system's, an interval must not end within a case: the model could not know when. */
    const uint64_t number = settings->mode == MODE_INTERVAL && FUZZ_DROPIN ? 86400000 : settings->mode_number;
    snprintf(text, room, numbered ? "%s%llu" : "%s", words[settings->mode], (unsigned long long)number);
}

void settings_export(const struct settings *settings)
{
    char policy[40], list[200];
    policy_text(settings, policy, sizeof policy);
    if (settings->as_a_list) {
        snprintf(list, sizeof list, "keeper=0,retain_bytes=%llu,purge_delay_ms=%llu,magazines=%u,epoch_policy=%s",
                 (unsigned long long)settings->retain_bytes, (unsigned long long)settings->purge_delay_ms,
                 settings->magazines, policy);
        CHECK(setenv("TSLAB_OPTIONS", list, 1) == 0);
    } else {
        set("TSLAB_KEEPER", 0, false);
        set("TSLAB_RETAIN_BYTES", settings->retain_bytes, false);
        set("TSLAB_PURGE_DELAY_MS", settings->purge_delay_ms, false);
        set("TSLAB_MAGAZINES", settings->magazines, false);
        CHECK(setenv("TSLAB_EPOCH_POLICY", policy, 1) == 0);
    }
    set("TSLAB_STATS", settings->stats, true);
    if (settings->limits_labels) { /* more than a case has */
        CHECK(setenv("TSLAB_EPOCH_LIMITS", "an instance=1T:a unit=1T:fuzz=1T", 0) == 0);
    }
    if (settings->arena_bytes != 0) {
        set("TSLAB_ARENA_BYTES", settings->arena_bytes, false);
    }
}
