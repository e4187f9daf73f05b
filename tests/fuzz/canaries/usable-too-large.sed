# core/room.c: the usable size of a slot is a granule too large.
/^struct room room_at(/,/^}/s/{ class_geometry\[class\].size,/{ class_geometry[class].size + GRANULE_BYTES,/
