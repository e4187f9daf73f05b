# slab/epoch_record.c: the quota of a label keeps the units of runs that leave their epoch.
/^void epoch_unlink_run(/,/^}/s/^    epoch_count_units(epoch, run->units, 0);/    counter_set(\&epoch->run_units, counter_get(\&epoch->run_units) - run->units);/
