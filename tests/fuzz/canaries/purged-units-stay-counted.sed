# space/depot.c: the units that a purger puts back stay counted as being in its hands.
/^static void put_back(/,/^}/s/^    counter_sub(&depot.purging_units, n);//
