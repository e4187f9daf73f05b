# thread/idle.c: the keeper takes all slots of a magazine, which its holder uses without the gate. Groups: keeper bars
/^static void look_at_idle/,/^}/s/^            heap_flush_kept(heap, c);/            heap_flush_magazine(heap, c);\n            heap_flush_kept(heap, c);/
