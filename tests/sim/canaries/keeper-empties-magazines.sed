# thread/heap.c: the keeper takes the slots of a magazine, too, which its holder uses without the gate. Groups: keeper
/^bool heap_flush_idle/,/^}/s/^                flush_kept(heap, c);/                heap_flush_magazine(heap, c);\n                flush_kept(heap, c);/
