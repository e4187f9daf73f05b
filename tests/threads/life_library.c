/* A library that allocates before main and frees after it: its constructors run early, its destructors late. */
#include "workers.h"

void *life_library_take(void);

static void *early[100], *from_thread[100], *given;

static void *allocate_in_thread(void *unused)
{
    (void)unused;
    for (size_t i = 0; i < COUNT_OF(from_thread); i++) {
        from_thread[i] = malloc(i * 20 + 1);
        pattern_fill(from_thread[i], i * 20 + 1, i);
    }
    return NULL;
}

__attribute__((constructor(101))) static void construct(void)
{
    for (size_t i = 0; i < COUNT_OF(early); i++) {
        early[i] = calloc(i + 1, 100);
        CHECK(early[i] != NULL);
        pattern_fill(early[i], (i + 1) * 100, i);
    }
    given = realloc(malloc(10), 100000);
    (void)in_a_thread(allocate_in_thread, NULL);
}

__attribute__((destructor)) static void destruct(void)
{
    for (size_t i = 0; i < COUNT_OF(early); i++) {
        CHECK(pattern_holds(early[i], (i + 1) * 100, i));
        free(early[i]);
        CHECK(pattern_holds(from_thread[i], i * 20 + 1, i));
        free(from_thread[i]);
    }
    void *late = malloc(500);
    CHECK(late != NULL);
    free(late);
}

/* Gives what the constructor allocated; the caller frees it. */
void *life_library_take(void)
{
    return given;
}
