# slab/samples.c: with a record end those that were linked to its head since. Groups: sample
/^static bool end_record/,/^}/s/    if (before != 0) {/    if (false) {/
