# space/free_runs.c: an empty run is not merged with the empty run before it.
/^uint32_t run_join(/,/^}/{
s/run_before(first, kind) };/0 };/
}
