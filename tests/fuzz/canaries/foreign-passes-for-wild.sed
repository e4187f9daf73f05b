# audit/diagnosis.c: the free of a foreign pointer is told as that of a wild one.
s/fatal_pointer("free of a foreign pointer", p,/fatal_pointer("double or wild free of", p,/
