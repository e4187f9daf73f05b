/* A program with two sites whose objects keep pages. It writes a profile, and says how much memory comes back when the
 * objects of the culprit, or of both, are freed.
 *
 * usage: promise SHAPE PROFILE */
#include "check.h"

#include <fcntl.h>
#include <malloc.h>
#include <tslab/tslab.h>

enum { OBJECTS = 80000, EPOCHS = 800 };

struct object {
    char *start;
    size_t site; /* which site allocated it */
};
static struct object objects[OBJECTS];
static uint64_t random_state = 11;

/* The sites. Each has a function of its own. */
static __attribute__((noinline)) void *by_others(size_t bytes)
{
    return keep(malloc(bytes));
}

static __attribute__((noinline)) void *by_culprit(size_t bytes)
{
    return keep(malloc(bytes));
}

static __attribute__((noinline)) void *by_accomplice(size_t bytes)
{
    return keep(malloc(bytes));
}

enum { OTHERS, CULPRIT, ACCOMPLICE };
static void *(*const sites[])(size_t) = { by_others, by_culprit, by_accomplice };

static void allocate(size_t i, size_t site, size_t bytes)
{
    objects[i] = (struct object){ sites[site](bytes), site };
    CHECK(objects[i].start != NULL);
    memset(objects[i].start, 1, bytes);
}

static void free_all_of(size_t site)
{
    for (size_t i = 0; i < OBJECTS; i++) {
        if (objects[i].start != NULL && objects[i].site == site) {
            free(objects[i].start);
            objects[i].start = NULL;
        }
    }
}

/* Of the objects side by side, those of the culprit keep one page, and those of its accomplice the next one. */
static void one_on_each_page(void)
{
    for (size_t i = 0; i < OBJECTS; i++) {
        allocate(i, i % 16 == 0 ? CULPRIT : i % 16 == 8 ? ACCOMPLICE : OTHERS, 512);
    }
}

/* Both have an object on each page. */
static void both_on_each_page(void)
{
    for (size_t i = 0; i < OBJECTS; i++) {
        allocate(i, i % 8 == 0 ? CULPRIT : i % 8 == 3 ? ACCOMPLICE : OTHERS, 512);
    }
}

/* Slots that may lie on two pages. Of some pages the culprit has most, of others nearly nothing. */
static void scattered(void)
{
    for (size_t i = 0; i < OBJECTS; i++) {
        const int crowded = i / 2000 % 4 == 0;
        allocate(i, random_next(&random_state) % 100 < (crowded ? 30 : 5) ? CULPRIT : OTHERS, 304);
    }
}

/* Pages that went back are used again, and then left to one object in many. */
static void used_again(void)
{
    one_on_each_page();
    free_all_of(OTHERS);
    (void)malloc_trim(0);
    free_all_of(ACCOMPLICE);
    (void)malloc_trim(0);
    for (size_t i = 0; i < OBJECTS; i++) {
        if (objects[i].start == NULL) {
            allocate(i, i % 16 == 9 ? ACCOMPLICE : OTHERS, 512);
        }
    }
}

/* Epochs that drain: their chunks have a few objects of the culprit's on some of the pages. */
static void in_chunks(size_t culprits)
{
    enum { EACH = OBJECTS / EPOCHS };
    for (size_t e = 0; e < EPOCHS; e++) {
        const tslab_epoch epoch = tslab_epoch_open(NULL);
        CHECK(tslab_epoch_enter(epoch) >= 0);
        for (size_t i = e * EACH; i < (e + 1) * EACH; i++) {
            allocate(i, i % (EACH / culprits) == 7 ? CULPRIT : OTHERS, 16 + random_next(&random_state) % 1000);
        }
        CHECK(tslab_epoch_leave(epoch) >= 0 && tslab_epoch_close(epoch, 0, NULL) == TSLAB_OK);
    }
}

static void one_in_each_chunk(void)
{
    in_chunks(1);
}

static void many_in_each_chunk(void)
{
    in_chunks(10);
}

static const struct {
    const char *name;
    void (*plant)(void);
} shapes[] = {
    { "one_on_each_page", one_on_each_page },
    { "both_on_each_page", both_on_each_page },
    { "scattered", scattered },
    { "used_again", used_again },
    { "one_in_each_chunk", one_in_each_chunk },
    { "many_in_each_chunk", many_in_each_chunk },
};

int main(int count, char **arguments)
{
    CHECK(count == 3);
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        if (strcmp(arguments[1], shapes[i].name) == 0) {
            shapes[i].plant();
        }
    }
    CHECK(objects[0].start != NULL);
    free_all_of(OTHERS);
    (void)malloc_trim(0);
    const int fd = open(arguments[2], O_WRONLY | O_CREAT, 0600);
    CHECK(fd >= 0 && tslab_profile_write(fd) == TSLAB_OK && close(fd) == 0);
    const long before = (long)resident_kib();
    free_all_of(CULPRIT);
    (void)malloc_trim(0);
    const long without_culprit = (long)resident_kib();
    free_all_of(ACCOMPLICE);
    (void)malloc_trim(0);
    printf("%ld %ld\n", before - without_culprit, before - (long)resident_kib());
    return 0;
}
