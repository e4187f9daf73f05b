/* Hands the pointer to the report that the engine set. Before the engine starts there is none, and every pointer is
 * foreign. */
#include "common/misuse.h"

#include "os/fatal.h"
#include "os/text.h"

void (*misuse_report)(const char *what, const void *p, size_t asked);

_Noreturn noinline void misuse_of_asked(const char *what, const void *p, size_t asked)
{
    invariant(p != NULL || asked == 0);
    if (misuse_report != NULL) {
        misuse_report(what, p, asked);
    }
    fatal_pointer(what != NULL ? what : "free of a foreign pointer", p, "");
}

_Noreturn noinline void misuse(const char *what, const void *p)
{
    misuse_of_asked(what, p, 0);
}

_Noreturn noinline void misuse_no_object(const void *p)
{
    misuse(NULL, p);
}

/* uncounted: only the checked libraries call it */
_Noreturn noinline void misuse_size(const void *p, size_t given, size_t asked)
{
    invariant(p != NULL && given != asked);
    char about[96];
    struct text text = { .buffer = about, .capacity = sizeof about - 1 };
    text_string(&text, " with size ");
    text_number(&text, given);
    text_string(&text, ", but it was allocated with ");
    text_number(&text, asked);
    about[text.length] = 0;
    fatal_pointer("sized free of", p, about);
}

/* uncounted: only the checked libraries call it */
_Noreturn noinline void misuse_alignment(const void *p, size_t given)
{
    invariant(p != NULL);
    char about[96];
    struct text text = { .buffer = about, .capacity = sizeof about - 1 };
    text_string(&text, " with alignment ");
    text_number(&text, given);
    text_string(&text, ", but it was not allocated with it");
    about[text.length] = 0;
    fatal_pointer("aligned free of", p, about);
}
