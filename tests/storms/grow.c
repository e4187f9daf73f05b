/* Several threads grow large blocks, whose pages move, and keep them, so that the arena is extended all the while.
 *
 *   grow <blocks> */
#include "message.h"
#include "workers.h"

enum { THREADS = 4, FROM = 512 << 10, TO = 16 << 20 };

static size_t blocks;

static void *grow(void *argument)
{
    const unsigned seed = (unsigned)(uintptr_t)argument;
    for (size_t i = 0; i < blocks; i++) {
        unsigned char *p = keep(tslab_malloc(FROM));
        pattern_fill(p, FROM, seed);
        for (size_t bytes = 2 * FROM; bytes <= TO; bytes *= 2) {
            p = keep(tslab_realloc(p, bytes));
            CHECK(pattern_holds(p, FROM, seed) && p[bytes - 1] == 0);
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    CHECK_SAY(argc == 2, "usage: grow <blocks>");
    blocks = check_count(argv[1]);
    in_threads(THREADS, grow, NULL, 1);
    return 0;
}
