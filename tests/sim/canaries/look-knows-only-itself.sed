# report/profile.c: what the look of another report has found in a cache is taken for living.
s/(int32_t)(load_plain(&sample->seen) - look) >= 0/load_plain(\&sample->seen) == look/
