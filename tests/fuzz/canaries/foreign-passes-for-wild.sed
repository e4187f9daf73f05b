# core/object.c: the free of a foreign pointer is told as that of a wild one.
s/"double or wild free of" : "free of a foreign pointer"/"double or wild free of" : "double or wild free of"/
