# common/record_ring.c: a record is said to be complete before its words are there.
s/^    store_release(&record->when_ns, when_ns);$/    store_release(\&record->sequence, writing + 1);\n&/
/invariant(load_plain(&record->sequence) == writing)/d
