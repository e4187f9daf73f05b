# malloc/object.c: the usable size of a slot is a granule too large.
/^struct object_memory object_memory_at(/,/^}/s/{ class_geometry\[class\].size,/{ class_geometry[class].size + GRANULE_BYTES,/
