# core/object.c: the usable size of a slot is a granule too large.
/^static struct place place_at(/,/^}/s/{ class_geometry\[class\].size,/{ class_geometry[class].size + GRANULE_BYTES,/
