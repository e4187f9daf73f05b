/* Tells whether the kernel calls this process secure, that is setuid or setgid, whether it runs on the library, and
 * which values the library's options have. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

int main(void)
{
    for (size_t size = 1; size < 1000000; size *= 2)
        free(memset(malloc(size), 1, size));
    void (*print)(int);
    *(void **)&print = dlsym(RTLD_DEFAULT, "tslab_stats_json");
    printf("%s, %s the library\n", getauxval(AT_SECURE) ? "secure" : "plain", print != NULL ? "with" : "without");
    fflush(stdout);
    if (print != NULL)
        print(STDOUT_FILENO);
    return 0;
}
