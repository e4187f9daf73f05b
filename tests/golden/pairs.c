// Allocates and frees 64 bytes at once, as many times as the argument says, after a warm-up that takes the slow paths.
#include <stdlib.h>

static void pairs(long count)
{
    for (long i = 0; i < count; i++) {
        free(malloc(64));
    }
}

int main(int argc, char **argv)
{
    pairs(1000);
    pairs(argc > 1 ? atol(argv[1]) : 0);
    return 0;
}
