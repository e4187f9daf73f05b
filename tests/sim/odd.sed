# common/size_class.h: another tiny geometry for the simulation: last words of one bit, and classes whose objects share cache lines, so
# that slabs have a home heap. 5, 3, 2 and 1 slots.
s/^#define CLASS_TABLE(X, a) X(a, 1024, 1) .*/#define CLASS_TABLE(X, a) X(a, 3216, 1) X(a, 5456, 1) X(a, 8192, 1) X(a, 16384, 1)/
