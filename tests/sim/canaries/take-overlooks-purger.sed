# space/depot.c: who finds no run does not wait for a purger who holds one. Groups: tight
s/ || counter_get(&depot.purging_units) != 0//
