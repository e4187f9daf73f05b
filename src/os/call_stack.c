/* Frames without tables end the stack. The copy of the unwinder in our shared libraries asks for a function of glibc
 * 2.35. Its calls come here (--wrap), so that the libraries run with older ones, too. */
#include "os/call_stack.h"

#include "base/atomic.h"
#include "base/bits.h"
#include "os/fatal.h"
#include "os/os.h"
#include "os/system_call.h"
#include "os/text.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
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

/* Backtraces. Each line is written when it is complete, so a fault loses only those that would follow. */

/* Statically linked programs may lack it. */
extern __typeof__(dladdr) dladdr __attribute__((weak));

static const int faults[] = { SIGSEGV, SIGBUS };
enum { FAULTS = sizeof faults / sizeof faults[0] };

static struct {
    atomic_u32 is_on;
    struct sigaction before[FAULTS];
} faulting;

/* uncounted: only the checked libraries call it */
void backtrace_end(void)
{
    for (unsigned i = 0; BACKTRACES && i < FAULTS; i++) {
        (void)sigaction(faults[i], &faulting.before[i], NULL);
    }
}

/* uncounted: only the checked libraries call it */
static _Noreturn void faulted(int number)
{
    (void)number;
    backtrace_end();
    abort();
}

/* uncounted: only the checked libraries call it */
bool backtrace_begin(void)
{
    if (!BACKTRACES || swap_acquire(&faulting.is_on, 1) != 0) {
        return false;
    }
    struct sigaction action = { .sa_handler = faulted, .sa_flags = SA_ONSTACK };
    (void)sigemptyset(&action.sa_mask);
    for (unsigned i = 0; i < FAULTS; i++) {
        (void)sigaction(faults[i], &action, &faulting.before[i]);
    }
    return true;
}

/* The binary that an address lies in. */
struct binary {
    uintptr_t address;
    uintptr_t base; /* addresses in its file are this much lower */
    const char *path;
    bool is_found, is_program;
};

/* uncounted: only the checked libraries call it */
static int holds_address(struct dl_phdr_info *info, size_t bytes, void *argument)
{
    struct binary *const binary = argument;
    (void)bytes;
    invariant(binary->address != 0 && !binary->is_found);
    for (unsigned i = 0; i < info->dlpi_phnum && !binary->is_found; i++) {
        const ElfW(Phdr) *const part = &info->dlpi_phdr[i];
        binary->is_found =
            part->p_type == PT_LOAD && binary->address - (info->dlpi_addr + part->p_vaddr) < part->p_memsz;
    }
    if (binary->is_found) {
        binary->base = info->dlpi_addr;
        binary->path = info->dlpi_name;
        return 1;
    }
    binary->is_program = false; /* which comes first */
    return 0;
}

/* uncounted: only the checked libraries call it */
static struct binary binary_of(uintptr_t address)
{
    struct binary found = { .address = address, .is_program = true };
    (void)dl_iterate_phdr(holds_address, &found);
    return found;
}

/* uncounted: only the checked libraries call it */
static void tell_binary(struct text *line, const struct binary *binary)
{
    enum { PATH_SHOWN = 192 };
    char path[PATH_SHOWN + 1];
    const long length = binary->is_program ? SYSTEM_CALL(readlinkat, AT_FDCWD, "/proc/self/exe", path, PATH_SHOWN) : 0;
    if (length > 0) {
        path[length] = 0;
    }
    invariant(binary->is_found && binary->address >= binary->base && length <= PATH_SHOWN);
    text_foreign(line, length > 0 ? path : binary->is_program ? os_program_name() : binary->path);
    text_string(line, "+");
    text_hex(line, binary->address - binary->base);
}

/* uncounted: only the checked libraries call it */
static void tell_symbol(struct text *line, uintptr_t address)
{
    enum { SYMBOL_SHOWN = 96 };
    Dl_info info;
    if (&dladdr == NULL || dladdr((const void *)address, &info) == 0 || info.dli_sname == NULL) {
        return;
    }
    char name[SYMBOL_SHOWN + 1] = { 0 };
    memcpy(name, info.dli_sname, strnlen(info.dli_sname, SYMBOL_SHOWN));
    text_string(line, " (");
    text_foreign(line, name);
    text_string(line, "+");
    text_hex(line, address - (uintptr_t)info.dli_saddr);
    text_string(line, ")");
}

/* uncounted: only the checked libraries call it */
static void say_frame(size_t number, uintptr_t address)
{
    char buffer[384];
    struct text line = { .buffer = buffer, .capacity = sizeof buffer };
    const struct binary binary = binary_of(address);
    invariant(number < BACKTRACE_FRAMES);
    text_string(&line, "  #");
    text_number(&line, number);
    text_string(&line, " ");
    if (binary.is_found) {
        tell_binary(&line, &binary);
        tell_symbol(&line, address);
    } else {
        text_hex(&line, address);
    }
    invariant(line.length < sizeof buffer);
    text_string(&line, "\n");
    (void)os_write(STDERR_FILENO, buffer, line.length);
}

/* uncounted: only the checked libraries call it */
void backtrace_say(const uintptr_t *frames, size_t depth)
{
    if (!BACKTRACES) {
        return;
    }
    const struct binary ours = binary_of((uintptr_t)&faulting);
    size_t first = 0;
    invariant(depth <= STACK_FRAMES);
    while (!ours.is_program && first < depth && binary_of(frames[first] - 1).base == ours.base) {
        first++;
    }
    invariant(first <= depth);
    const size_t shown = min_size(depth - first, BACKTRACE_FRAMES);
    for (size_t i = 0; i < shown; i++) {
        say_frame(i, frames[first + i] - 1);
    }
}

/* uncounted: only the checked libraries call it */
noinline void backtrace_say_here(void)
{
    uintptr_t frames[STACK_FRAMES];
    const size_t depth = stack_read(frames);
    invariant(depth > 0);
    backtrace_say(frames, depth);
}
