#include "failure.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tslab/tslab.h>
#include <unistd.h>

static struct progress own_progress;
struct progress *progress = &own_progress;

_Noreturn void failure(const char *file, int line, const char *format, ...)
{
    char text[1024];
    const char *const name = strrchr(file, '/') == NULL ? file : strrchr(file, '/') + 1;
    int used =
        snprintf(text, sizeof text, "%s:%d: operation %llu: ", name, line, (unsigned long long)progress->operation);
    va_list arguments;
    va_start(arguments, format);
    used += vsnprintf(text + used, sizeof text - (size_t)used, format, arguments);
    va_end(arguments);
    const size_t length = (size_t)used < sizeof text - 1 ? (size_t)used : sizeof text - 2;
    text[length] = '\n';
    const ssize_t written = write(STDERR_FILENO, text, length + 1);
    (void)written;
    abort();
}

void check_status(int found, int wanted, const char *call, const char *file, int line)
{
    if (found != wanted) {
        failure(file, line, "%s is %s (%d), not %s", call, tslab_status_name((enum tslab_status)found), found,
                tslab_status_name((enum tslab_status)wanted));
    }
}
