/* A library that is opened with RTLD_DEEPBIND: its malloc and free are libc's, whatever is preloaded. */
#include <stdlib.h>

void *library_get(size_t size);
void library_put(void *p);

void *library_get(size_t size)
{
    return malloc(size);
}

void library_put(void *p)
{
    free(p);
}
