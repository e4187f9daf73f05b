/* Tells whether the kernel calls this process secure, that is setuid, and whether it runs on the library. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

int main(void)
{
    for (size_t size = 1; size < 1000000; size *= 2)
        free(memset(malloc(size), 1, size));
    printf("%s, %s the library\n", getauxval(AT_SECURE) ? "secure" : "plain",
           dlsym(RTLD_DEFAULT, "tslab_malloc") != NULL ? "with" : "without");
    return 0;
}
