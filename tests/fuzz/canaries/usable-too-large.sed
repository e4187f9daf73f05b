# core/object.c: the usable size of a slot is a granule too large.
/^size_t object_usable(/,/^}/s/return class_geometry\[class\].size;/return class_geometry[class].size + GRANULE_BYTES;/
