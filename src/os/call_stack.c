/* Frames without tables end the stack. The copy of the unwinder in our shared libraries asks for a function of
 * glibc 2.35; its calls come here (--wrap), so that the libraries run with older ones, too. */
#include "os/call_stack.h"

#include "base/atomic.h"
#include "base/bits.h"
#include "os/fatal.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>
#include <unwind.h>

#if TSLAB_WRAPS || !defined __GLIBC__
/* As glibc's struct dl_find_object on the processors that tslab runs on. Other libcs lack it, although the compiler's
 * unwinder asks for the function. */
struct dl_object {
    unsigned long long flags;
    void *start, *end;
    void *link_map;
    void *eh_frame;
    unsigned long long reserved[7];
};

typedef int finder(void *, struct dl_object *);

/* Statically linked programs have glibc's own, and need no dlsym. */
extern __typeof__(dlsym) dlsym __attribute__((weak));

static _Atomic(finder *) find_object;

void stack_prepare(void)
{
    void *const function = &dlsym == NULL ? NULL : dlsym(RTLD_DEFAULT, "_dl_find_object");
    finder *finds = NULL;
    memcpy(&finds, &function, sizeof finds);
    store_release(&find_object, finds);
}

struct finding {
    uintptr_t address;
    struct dl_object *found;
};

/* Whether a binary has the address in a segment of its own, and a table for it. */
static int look_into(struct dl_phdr_info *binary, size_t bytes, void *argument)
{
    const struct finding *const finding = argument;
    bool has_it = false;
    void *table = NULL;
    (void)bytes;
    for (unsigned i = 0; i < binary->dlpi_phnum; i++) {
        const ElfW(Phdr) *const part = &binary->dlpi_phdr[i];
        const uintptr_t start = binary->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_LOAD && finding->address - start < part->p_memsz) {
            has_it = true;
            finding->found->start = (void *)start;
            finding->found->end = (void *)(start + part->p_memsz);
        } else if (part->p_type == PT_GNU_EH_FRAME) {
            table = (void *)start;
        }
    }
    finding->found->eh_frame = table;
    return has_it && table != NULL;
}

/* uncounted: only the unwinder calls it */
static int find_table(void *address, struct dl_object *found)
{
    finder *const finds = load_acquire(&find_object);
    if (finds != NULL) {
        return finds(address, found);
    }
    struct finding finding = { (uintptr_t)address, found };
    memset(found, 0, sizeof *found);
    invariant(address != NULL);
    return dl_iterate_phdr(look_into, &finding) != 0 ? 0 : -1;
}

#if TSLAB_WRAPS
__attribute__((used)) int __wrap__dl_find_object(void *address, struct dl_object *found);

__attribute__((used)) int __wrap__dl_find_object(void *address, struct dl_object *found)
{
    return find_table(address, found);
}
#endif

/* Static programs on another libc, with an unwinder that was made for glibc. */
#ifndef __GLIBC__
__attribute__((weak, visibility("default"))) int _dl_find_object(void *address, struct dl_object *found);

__attribute__((weak, visibility("default"))) int _dl_find_object(void *address, struct dl_object *found)
{
    return find_table(address, found);
}
#endif
#else
void stack_prepare(void)
{
}
#endif

struct reading {
    uintptr_t *frames;
    size_t depth;
};

static _Unwind_Reason_Code read_frame(struct _Unwind_Context *context, void *argument)
{
    struct reading *const reading = argument;
    const uintptr_t address = _Unwind_GetIP(context);
    if (address == 0 || reading->depth == STACK_FRAMES) {
        return _URC_END_OF_STACK;
    }
    invariant(reading->depth < STACK_FRAMES);
    reading->frames[reading->depth++] = address;
    return _URC_NO_REASON;
}

noinline size_t stack_read(uintptr_t frames[STACK_FRAMES])
{
    struct reading reading = { .frames = frames };
    (void)_Unwind_Backtrace(read_frame, &reading);
    invariant(reading.depth <= STACK_FRAMES);
    return reading.depth;
}
