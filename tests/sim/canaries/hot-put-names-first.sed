# core/hot.c: a hot run is named before its length is known.
s/^            hot->units\[i\] = n;/            store_release(\&hot->first[i], first);/
t
s/^            store_release(&hot->first\[i\], first);/            hot->units[i] = n;/
