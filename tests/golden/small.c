/* A small program: a thousand objects of mixed sizes, some of them made longer, and each freed. */
#include <stdlib.h>
#include <string.h>

enum { OBJECTS = 1000, BYTES_MOST = 768 };
static void *objects[OBJECTS];

int main(void)
{
    unsigned random = 12345;
    for (int i = 0; i < OBJECTS; i++) {
        random = random * 1103515245u + 12345u;
        const size_t bytes = 1 + (random >> 16) % BYTES_MOST;
        objects[i] = i % 8 == 0 ? calloc(1, bytes) : malloc(bytes);
        if (objects[i] == NULL) {
            return 1;
        }
        memset(objects[i], 1, bytes);
        if (i % 16 == 0) {
            void *const longer = realloc(objects[i], bytes * 2);
            objects[i] = longer != NULL ? longer : objects[i];
        }
    }
    for (int i = 0; i < OBJECTS; i++) {
        free(objects[i]);
    }
    return 0;
}
