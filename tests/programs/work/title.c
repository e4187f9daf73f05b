/* Writes a title over its arguments, as setproctitle does, and over the text of libc's name. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char **arguments)
{
    char *const last = arguments[count - 1];
    const size_t bytes = (size_t)(last - arguments[0]) + strlen(last);
    memset(arguments[0], 'x', bytes);
    memcpy(arguments[0], "worker process", bytes < 14 ? bytes : 14);
    memset(program_invocation_short_name, 'y', 3);
    for (size_t size = 1; size < 1000000; size *= 2)
        free(malloc(size));
    return 0;
}
