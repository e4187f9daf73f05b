# report/profile.c: between the end of sampling and of all samples, another thread may begin to sample. Groups: sample
s/^        store_seq_cst(&samples.is_on, 0);$/&\n        lock_release(\&keeper.lock);/
/^        samples_end_all();$/,/^    lock_release(&keeper.lock);$/s/^    lock_release(&keeper.lock);$/    if (period != 0) {\n        lock_release(\&keeper.lock);\n    }/
