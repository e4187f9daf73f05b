# epoch/ending.c: who releases a draining epoch looks whom its serving record serves, then takes the record's value.
s/^    const uint64_t handles = epoch_serving_value(epoch);/    const struct epoch *const serving = epoch_serving(epoch);\n    (void)load_relaxed(\&epoch->pins);\n    const uint64_t handles = serving == NULL ? 0 : epoch_value(serving);/
