// pair: one thread allocates and frees at once, always the same size.

#include "pattern.h"

#define PARAMETERS(X) X(operations, 0, ANY) X(size, SIZE_LEAST, SIZE_MOST)
PARAMETERS(PARAMETER_VARIABLE)

int main(int count, char **words)
{
    parameters_read(count, words, (parameter[]){ PARAMETERS(PARAMETER_ROW){ 0 } });
    static actor a;
    actor_init(&a, 0);
    base_measure();
    for (uint64_t i = 0; i < operations / 10; i++) {
        object_drop(&a, object_make(&a, size));
    }
    double start = cpu_begin();
    for (uint64_t i = 0; i < operations; i++) {
        object_drop(&a, object_make(&a, size));
    }
    report(operations, cpu_end(start), &a, 1, NULL, 0);
    return 0;
}
