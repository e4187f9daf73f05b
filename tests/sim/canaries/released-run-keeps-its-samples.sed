# epoch/survivors.c: what an epoch's release ends keeps its records. Groups: sample
/^    samples_end_run(first);$/d
