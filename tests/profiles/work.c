/* A program with known figures: what a hundred and more calls allocate lives, or died, by function; and a leak that a
 * second profile shows. */
#include "check.h"

#include <signal.h>

static void *leaked[400000];
static size_t leaks;

static __attribute__((noinline)) void *keeps(size_t size)
{
    return leaked[leaks++] = keep(malloc(size));
}

static __attribute__((noinline)) void drops(size_t size)
{
    free(keep(malloc(size)));
}

static __attribute__((noinline)) void works(size_t rounds)
{
    for (size_t i = 0; i < rounds; i++) {
        CHECK(keeps(1000) != NULL);
        drops(2000);
    }
}

int main(void)
{
    works(20000);
    if (getenv("TSLAB_STATS_SIGNAL") != NULL) {
        raise(SIGUSR1); /* the next slow allocation writes a profile */
    }
    for (size_t i = 0; i < 2000; i++) {
        drops(40000 + i * 16);
    }
    works(20000);
    return 0;
}
