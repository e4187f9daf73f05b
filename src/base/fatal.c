#include "base/fatal.h"

#include "base/text.h"
#include "os/os.h"

#include <stdlib.h>
#include <unistd.h>

enum { LINE_BYTES = 256 };

void (*fatal_prepare)(void);

static _Noreturn void fatal_line(struct text *line)
{
    text_string(line, "\n");
    if (fatal_prepare != NULL) {
        fatal_prepare();
    }
    (void)os_write(STDERR_FILENO, line->buffer, line->length);
    abort();
}

_Noreturn noinline void fatal_pointer(const char *what, const void *pointer)
{
    char buffer[LINE_BYTES];
    struct text line = { .buffer = buffer, .capacity = sizeof buffer };
    text_string(&line, "tslab: ");
    text_string(&line, what);
    text_string(&line, " ");
    text_hex(&line, (uintptr_t)pointer);
    fatal_line(&line);
}

_Noreturn noinline void fatal(const char *what)
{
    char buffer[LINE_BYTES];
    struct text line = { .buffer = buffer, .capacity = sizeof buffer };
    text_string(&line, "tslab: ");
    text_string(&line, what);
    fatal_line(&line);
}

/* uncounted: only checked builds call it */
_Noreturn noinline void fatal_invariant(const char *expression, const char *file, unsigned at)
{
    char buffer[LINE_BYTES];
    struct text line = { .buffer = buffer, .capacity = sizeof buffer };
    text_string(&line, "tslab: broken invariant: ");
    text_string(&line, expression);
    text_string(&line, " at ");
    text_string(&line, file);
    text_string(&line, ":");
    text_number(&line, at, 0);
    fatal_line(&line);
}
