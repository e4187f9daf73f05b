# common/record_ring.c: a reader does not look at the sequence again.
s/ && load_relaxed(&record->sequence) == sequence;$/;/
