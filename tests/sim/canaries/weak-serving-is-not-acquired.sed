# epoch/scope.c: who is second to make the record that serves handles reads that of the first before it was made.
s/!cas_seq_cst(&owner->handles, &there, made)/!atomic_compare_exchange_strong_explicit(\&owner->handles, \&there, made, memory_order_seq_cst, memory_order_relaxed)/
