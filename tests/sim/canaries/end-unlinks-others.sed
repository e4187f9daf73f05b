# slab/samples.c: with a record end those that were linked to its head since.
/^static bool end_record/,/^}/s/    if (before != 0) {/    if (false) {/
