/* Composes the last line in a buffer on the stack, and writes it by one system call, so that it is whole even where
 * several processes share stderr. */
#include "os/fatal.h"

#include "os/os.h"
#include "os/text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_BYTES = 384 };

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

/* Names the process: its lines may stand among those of other processes. */
static void begin_line(struct text *line)
{
    enum { NAME_MOST = 32 };
    char name[NAME_MOST + 1] = { 0 };
    const char *const program = os_program_name();
    memcpy(name, program, strnlen(program, NAME_MOST));
    text_string(line, "tslab[");
    text_number(line, os_process_id(), 0);
    text_string(line, " ");
    text_foreign(line, name);
    text_string(line, "]: ");
}

_Noreturn noinline void fatal_pointer(const char *what, const void *pointer, const char *about)
{
    char buffer[LINE_BYTES];
    struct text line = { .buffer = buffer, .capacity = sizeof buffer };
    begin_line(&line);
    text_string(&line, what);
    text_string(&line, " ");
    text_hex(&line, (uintptr_t)pointer);
    text_string(&line, about);
    fatal_line(&line);
}

_Noreturn noinline void fatal(const char *what)
{
    char buffer[LINE_BYTES];
    struct text line = { .buffer = buffer, .capacity = sizeof buffer };
    begin_line(&line);
    text_string(&line, what);
    fatal_line(&line);
}

/* uncounted: only checked builds call it */
_Noreturn noinline void fatal_invariant(const char *expression, const char *file, unsigned at)
{
    char buffer[LINE_BYTES];
    struct text line = { .buffer = buffer, .capacity = sizeof buffer };
    begin_line(&line);
    text_string(&line, "broken invariant: ");
    text_string(&line, expression);
    text_string(&line, " at ");
    text_string(&line, file);
    text_string(&line, ":");
    text_number(&line, at, 0);
    fatal_line(&line);
}
