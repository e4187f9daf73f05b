# core/runs.c: an empty run is not merged with the empty run before it.
/^void run_join(/,/^}/{
s/run_before(first, kind) };/0 };/
}
