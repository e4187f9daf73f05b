"""Heap profiles: what the library writes (docs/profiles.md), with names for its addresses, as tables, pprof
and flame graphs."""
