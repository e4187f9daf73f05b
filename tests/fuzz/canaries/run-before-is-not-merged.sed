# core/depot.c: an empty run is not merged with the empty run before it.
/^static void run_join(/,/^}/{
s/run_before(first, kind) };/0 };/
}
/^static uint32_t run_before(/i __attribute__((unused))
