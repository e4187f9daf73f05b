/* A program whose memory one site of a hundred keeps: of eight objects side by side, the one that lives was allocated
 * there. With the argument "mended" it is freed, too. Says how much memory is resident in the end. */
#include "check.h"

#include <malloc.h>

enum { PAGES = 32768, ON_A_PAGE = 8, SITES = 100, CULPRIT = 42, BYTES = 512 };

#define SITE(n)                                                                                                        \
    static __attribute__((noinline)) void *site_##n(void)                                                              \
    {                                                                                                                  \
        return keep(malloc(BYTES));                                                                                    \
    }
#define TEN(X, n) X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7) X(n##8) X(n##9)
#define ALL(X)    TEN(X, 1) TEN(X, 2) TEN(X, 3) TEN(X, 4) TEN(X, 5) TEN(X, 6) TEN(X, 7) TEN(X, 8) TEN(X, 9) TEN(X, 10)
ALL(SITE)
#define ENTRY(n) site_##n,
static void *(*const sites[SITES])(void) = { ALL(ENTRY) };

static void *objects[PAGES * ON_A_PAGE];

int main(int count, char **arguments)
{
    const int mended = count > 1 && strcmp(arguments[1], "mended") == 0;
    uint64_t random = 11;
    for (size_t i = 0; i < COUNT_OF(objects); i++) {
        const size_t other = random_next(&random) % (SITES - 1);
        const size_t site = i % ON_A_PAGE == 0 ? CULPRIT : other + (other >= CULPRIT);
        objects[i] = sites[site]();
        CHECK(objects[i] != NULL);
        memset(objects[i], 1, BYTES);
    }
    for (size_t i = 0; i < COUNT_OF(objects); i++) {
        if (i % ON_A_PAGE != 0 || mended) {
            free(objects[i]);
        }
    }
    (void)malloc_trim(0);
    printf("%zu\n", resident_kib());
    return 0;
}
