# core/large.c: who finds no run does not wait for a purger who holds one.
s/depot_empty_units() >= units/stat_get(\&depot.dirty_units) + stat_get(\&depot.clean_units) >= units/
