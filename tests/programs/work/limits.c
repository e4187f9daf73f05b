/* A program under a limit on its address space.
 *
 *   limits work           some of everything, and a few threads
 *   limits exhaust KIB    allocate until the limit (KIB) is reached, free, and again */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void require(int condition, const char *sentence)
{
    if (!condition) {
        fprintf(stderr, "%s\n", sentence);
        exit(1);
    }
}

static void *work(void *unused)
{
    for (int round = 0; round < 20; round++) {
        char *blocks[200];
        for (size_t i = 0; i < 200; i++) {
            size_t size = i * i + 1;
            blocks[i] = malloc(size);
            require(blocks[i] != NULL, "malloc gave NULL");
            memset(blocks[i], (int)i, size);
        }
        for (size_t i = 0; i < 200; i++) {
            require(blocks[i][i * i] == (char)i, "memory was overwritten");
            free(blocks[i]);
        }
    }
    return unused;
}

static void work_everywhere(void)
{
    work(NULL);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 256 << 10);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        require(pthread_create(&threads[i], &attributes, work, NULL) == 0, "no thread");
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    char *large = malloc(30 << 20);
    require(large != NULL, "30 MiB were refused");
    memset(large, 1, 30 << 20);
    free(large);
}

/* Allocates blocks of one size, linked through themselves, until there are no more. Says how many bytes that were. */
static size_t allocate_all(size_t size, void **list)
{
    size_t total = 0;
    for (;;) {
        errno = 0;
        void **block = malloc(size);
        if (block == NULL)
            break;
        memset(block, 1, size < 4096 ? size : 4096);
        *block = *list;
        *list = block;
        total += size;
    }
    require(errno == ENOMEM, "errno is not ENOMEM");
    return total;
}

static void free_all(void **list)
{
    while (*list != NULL) {
        void *block = *list;
        *list = *(void **)block;
        free(block);
    }
}

/* Every size must find room again that blocks of another size have left. */
static void exhaust(size_t limit)
{
    static const size_t sizes[] = { 100, 1 << 20, 3000, 40000, 1 << 24, 64, 300000, 1000 };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        void *list = NULL;
        size_t total = allocate_all(sizes[i], &list);
        if (total < limit / 4)
            fprintf(stderr, "only %zu bytes in blocks of %zu, of %zu allowed\n", total, sizes[i], limit);
        require(total >= limit / 4, "too little");
        errno = 0;
        require(calloc(1, limit) == NULL && errno == ENOMEM, "calloc gave more than there was");
        errno = 0;
        require(realloc(list, limit) == NULL && errno == ENOMEM, "realloc gave more than there was");
        free_all(&list);
        work(NULL);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "work") == 0)
        work_everywhere();
    else if (argc > 2 && strcmp(argv[1], "exhaust") == 0)
        exhaust(strtoul(argv[2], NULL, 10) * 1024);
    else
        return 2;
    puts("done");
    return 0;
}
