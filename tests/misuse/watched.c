/* A program whose memory somebody watches: AddressSanitizer, or valgrind. It is right with 0, and wrong with the number
 * of a case. watched.py runs it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tslab/tslab.h>

enum { OBJECTS = 2000, LARGE = 3000000 };

static void expect(int holds)
{
    if (!holds) {
        abort();
    }
}

static int is_zero(const char *p, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (p[i] != 0) {
            return 0;
        }
    }
    return 1;
}

static void allocate(tslab_epoch epoch, char *all[OBJECTS])
{
    for (size_t i = 0; i < OBJECTS; i++) {
        const size_t size = i * 37 % 9000 + 1;
        all[i] = i % 3 == 0 ? tslab_malloc(size) : i % 3 == 1 ? tslab_epoch_malloc(epoch, size) : tslab_calloc(1, size);
        expect(all[i] != NULL && (i % 3 != 2 || is_zero(all[i], size)));
        memset(all[i], 1, size);
    }
}

/* Everything that is allowed, so that what is free is used again in all ways. */
static void work(tslab_epoch epoch)
{
    static char *all[OBJECTS];
    tslab_epoch request = tslab_epoch_open(&(struct tslab_epoch_options){ .policy = TSLAB_POLICY_RELEASE });
    for (int round = 0; round < 3; round++) {
        allocate(epoch, all);
        for (size_t i = 0; i < OBJECTS; i += 2) {
            const size_t size = i * 53 % 100000 + 1;
            all[i] = tslab_realloc(all[i], size);
            expect(all[i] != NULL && tslab_usable_size(all[i]) >= size);
            memset(all[i], 2, size);
        }
        for (size_t i = 0; i < OBJECTS; i++) {
            tslab_free(all[i]);
        }
        char *const large = tslab_calloc(1, LARGE);
        expect(large != NULL && is_zero(large, LARGE));
        tslab_free(large);
        for (int i = 0; i < OBJECTS; i++) {
            void *object;
            const tslab_handle handle = tslab_handle_malloc(request, 200, &object);
            memset(object, 3, 200);
            expect(i % 2 == 0 || tslab_handle_free(request, handle) == TSLAB_OK);
            memset(tslab_epoch_malloc(request, 100), 3, 100);
        }
        expect(tslab_epoch_advance(&request, 0, NULL) == TSLAB_OK);
    }
    expect(tslab_epoch_release(request, 0, NULL) == TSLAB_OK);
}

int main(int argc, char **argv)
{
    const int wrong = argc > 1 ? atoi(argv[1]) : 0;
    const tslab_epoch epoch = tslab_epoch_open(NULL);
    work(epoch);
    volatile char *p = tslab_epoch_malloc(epoch, 100);
    switch (wrong) {
    case 1: /* beyond the end, by one */
        p[100] = 1;
        break;
    case 2: /* after the free */
        tslab_free((void *)p);
        p[5] = 1;
        break;
    case 3: /* a read after the free */
        tslab_free((void *)p);
        expect(p[99] == 0);
        break;
    case 4: /* beyond the end of what was cut */
        p = tslab_realloc((void *)p, 20);
        p[20] = 1;
        break;
    case 5: /* beyond the end of a large object */
        p = tslab_malloc(40000);
        p[40000] = 1;
        break;
    default:
        tslab_free((void *)p);
    }
    expect(wrong != 0 || tslab_epoch_close(epoch, 0, NULL) == TSLAB_OK);
    puts("end");
    return 0;
}
