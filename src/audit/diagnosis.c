/* The tag of the unit that p lies in tells what p is. The rest is text in a buffer on the stack. */
#include "audit/diagnosis.h"

#include "common/guard.h"
#include "common/misuse.h"
#include "os/call_stack.h"
#include "os/fatal.h"
#include "os/os.h"
#include "os/text.h"
#include "slab/epoch_record.h"
#include "slab/samples.h"
#include "thread/heap.h"

#include <unistd.h>

/* The first unit of the large run that p lies in. 0: p lies in none. */
static size_t large_run_around(const void *p)
{
    size_t first = arena_unit(p);
    if (!arena_has_unit(first)) {
        return 0;
    }
    while (first > 0 && load_plain(&arena.units[first].tag) == TAG_NONE) {
        first--;
    }
    const bool covers = unit_tag(first) == TAG_LARGE && arena_unit(p) - first < arena.runs[first].units;
    return covers ? first : 0;
}

/* The descriptor of the run that p lies in. NULL: p lies in none. *bytes receives the bytes that the user of an object
 * there may touch. 0: unknown. */
static const struct run *run_around(const void *p, size_t *bytes)
{
    const uint32_t tag = arena_tag(p);
    const unsigned class = tag_class(tag);
    const bool is_slab = class != CLASS_NONE, is_chunk = tag == TAG_CHUNK;
    const size_t first = is_slab || is_chunk ? arena.units[arena_unit(p)].first : large_run_around(p);
    const size_t room = is_slab      ? class_geometry[class].size
                        : is_chunk   ? size_code_bytes(chunk_code(p))
                        : first != 0 ? arena.runs[first].large_bytes
                                     : 0;
    *bytes = room == 0 ? 0 : room - SEAL_BYTES;
    return first == 0 ? NULL : &arena.runs[first];
}

static void say_epoch(struct text *text, const struct epoch *epoch)
{
    static const char *const states[] = { ", gone", "", ", closed", ", closed", ", draining" };
    char label[EPOCH_LABEL_BYTES];
    (void)epoch_label(epoch, label);
    epoch_text(text, label, epoch_value(epoch));
    text_string(text, states[epoch_word_state(load_plain(&epoch->word))]);
}

/* asked: the bytes that the program wanted; 0: the engine knows only what it made available. */
static _Noreturn void say_of_asked(const char *what, const void *p, size_t asked)
{
    char about[128];
    struct text text = { .buffer = about, .capacity = sizeof about - 2 };
    size_t bytes;
    const struct run *const run = run_around(p, &bytes);
    const uint32_t word = run == NULL ? SLAB_EMPTY : load_plain(&run->word);
    const bool has_epoch = word_state(word) != SLAB_EMPTY && word_epoch(word) > EPOCH_PROCESS;
    const struct epoch *const epoch = has_epoch ? epoch_by_id(word_epoch(word)) : NULL;
    invariant(asked <= bytes || bytes == 0);
    bytes = asked != 0 ? asked : bytes;
    if (bytes != 0) {
        text_string(&text, " (");
        text_number(&text, bytes);
        text_string(&text, bytes == 1 ? " byte" : " bytes");
    }
    if (epoch != NULL) {
        text_string(&text, bytes != 0 ? ", " : " (");
        say_epoch(&text, epoch);
    }
    invariant(text.length <= sizeof about - 2);
    if (text.length != 0) {
        about[text.length++] = ')';
    }
    about[text.length] = 0;
    fatal_pointer(what, p, about);
}

/* Reports a p where no object starts. */
static _Noreturn void say_no_object(const void *p)
{
    if (!arena_has_unit(arena_unit(p))) {
        fatal_pointer("free of a foreign pointer", p,
                      heap_serves_malloc ? " (of another malloc, or of none; a library that is opened with "
                                           "RTLD_DEEPBIND has libc's)"
                                         : " (of another malloc, or of none)");
    }
    const unsigned class = tag_class(arena_tag(p));
    const size_t large = large_run_around(p);
    if (class != CLASS_NONE) {
        (void)slot_of(p, class); /* ends the program with another line if p is interior */
    } else if (large != 0 && p != (const void *)arena_address((uint32_t)large)) {
        slot_is_interior(p);
    }
    say_of_asked(class != CLASS_NONE || large != 0 ? "double free of" : "double or wild free of", p, 0);
}

static void report(const char *what, const void *p, size_t asked)
{
    if (what == NULL) {
        say_no_object(p);
    }
    say_of_asked(what, p, asked);
}

/* uncounted: only the checked libraries call it */
static void say_where_allocated(const void *p)
{
    static const char head[] = "  allocated at\n";
    const struct stack *const stack = samples_stack_of((uintptr_t)p);
    if (stack != NULL) {
        invariant(stack->depth <= STACK_FRAMES);
        (void)os_write(STDERR_FILENO, head, sizeof head - 1);
        backtrace_say(stack->frames, stack->depth);
    }
}

/* uncounted: only the checked libraries call it */
static void explain(const void *p)
{
    if (backtrace_begin()) {
        backtrace_say_here();
        say_where_allocated(p);
        backtrace_end();
    }
}

void diagnosis_start(void)
{
    misuse_report = report;
    if (GUARDED) {
        fatal_explain = explain;
    }
}
