/* The floating point environment is the program's own: rounding, flags, and traps that would end it by SIGFPE. */
#define _GNU_SOURCE
#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    static void *kept[1000];
    free(malloc(100));
    if (fesetround(FE_UPWARD) != 0 || feclearexcept(FE_ALL_EXCEPT) != 0 || feenableexcept(FE_ALL_EXCEPT) < 0)
        return 1;
    for (size_t i = 0; i < 300000; i++) {
        free(kept[i % 1000]);
        kept[i % 1000] = malloc(i % 1000 == 999 ? 400000 + i : 16 + i % 3000);
        if (i % 1000 == 999)
            kept[i % 1000] = realloc(kept[i % 1000], 800000 + i);
    }
    if (fetestexcept(FE_ALL_EXCEPT) != 0 || fegetround() != FE_UPWARD)
        return 2;
    puts("kept");
    return 0; /* and the reports at exit compute, too */
}
