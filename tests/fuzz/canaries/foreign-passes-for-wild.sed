# core/misuse.c: the free of a foreign pointer is told as that of a wild one.
s/misuse("free of a foreign pointer", p)/misuse("double or wild free of", p)/
