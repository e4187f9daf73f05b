# epoch/survivors.c: what an epoch's release ends keeps its records.
/^    samples_end_run(first);$/d
