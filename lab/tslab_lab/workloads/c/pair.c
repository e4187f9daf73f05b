// pair: one thread allocates and frees at once, always the same size.

#include "pattern.h"

int main(int count, char **words)
{
    uint64_t values[2];
    arguments_read(count, words, "OPERATIONS SIZE", values, 2);
    uint64_t operations = values[0];
    uint32_t size = (uint32_t)values[1];
    sizes_check(size, size);

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
