# slab/samples.c: the next table is there for all before it is filled.
/^static bool sample_table_need/,/^}/{/^    store_release(&known_samples->table, table);$/d
s/^    for (uint64_t at = 0; old != NULL.*$/    store_release(\&known_samples->table, table);\n&/}
