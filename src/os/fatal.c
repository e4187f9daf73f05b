/* Composes the last line in a buffer on the stack, and writes it by one system call, so that it is whole even where
 * several processes share stderr. */
#include "os/fatal.h"

#include "os/os.h"
#include "os/text.h"

#include <stdlib.h>
#include <unistd.h>

enum { LINE_BYTES = 384 };

void (*fatal_prepare)(void);
void (*fatal_explain)(const void *pointer);
void (*laws)(enum moment moment, struct thread *thread, uint64_t value);

static _Noreturn void fatal_line(struct text *line, const void *pointer)
{
    text_string(line, "\n");
    if (fatal_prepare != NULL) {
        fatal_prepare();
    }
    (void)os_write(STDERR_FILENO, line->buffer, line->length);
    if (fatal_explain != NULL) {
        fatal_explain(pointer); /* uncounted: only in the checked libraries */
    }
    abort();
}

_Noreturn noinline void fatal_pointer(const char *what, const void *pointer, const char *about)
{
    char buffer[LINE_BYTES];
    struct text line = { .buffer = buffer, .capacity = sizeof buffer };
    text_process(&line);
    text_string(&line, what);
    text_string(&line, " ");
    text_hex(&line, (uintptr_t)pointer);
    text_string(&line, about);
    fatal_line(&line, pointer);
}

_Noreturn noinline void fatal(const char *what)
{
    char buffer[LINE_BYTES];
    struct text line = { .buffer = buffer, .capacity = sizeof buffer };
    text_process(&line);
    text_string(&line, what);
    fatal_line(&line, NULL);
}

/* uncounted: only checked builds call it */
_Noreturn noinline void fatal_invariant(const char *expression, const char *file, unsigned at)
{
    char buffer[LINE_BYTES];
    struct text line = { .buffer = buffer, .capacity = sizeof buffer };
    text_process(&line);
    text_string(&line, "broken invariant: ");
    text_string(&line, expression);
    text_string(&line, " at ");
    text_string(&line, file);
    text_string(&line, ":");
    text_number(&line, at);
    fatal_line(&line, NULL);
}
