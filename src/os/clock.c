/* Looks the function up in the symbol table of the vDSO, which is an ELF file. The look-up is repeated by each thread
 * that comes before the first one is done, with the same result. */
#include "os/clock.h"

#include "base/atomic.h"
#include "os/given.h"
#include "os/system_call.h"

#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <string.h>

typedef int clock_function(clockid_t clock, struct timespec *now);

#ifdef __aarch64__
static const char clock_name[] = "__kernel_clock_gettime";
#else
static const char clock_name[] = "__vdso_clock_gettime";
#endif

/* By the system call. */
static int ask_kernel(clockid_t clock, struct timespec *now)
{
    return (int)SYSTEM_CALL(clock_gettime, clock, now);
}

static _Atomic(clock_function *) clock_found;

/* Where the parts of the image are that it names by their addresses in the file. */
struct image {
    uintptr_t base;
    const ElfW(Dyn) * dynamic;
};

static struct image image_at(uintptr_t start)
{
    const ElfW(Ehdr) *const header = (const ElfW(Ehdr) *)start;
    const ElfW(Phdr) *const parts = (const ElfW(Phdr) *)(start + header->e_phoff);
    struct image image = { 0, NULL };
    for (unsigned i = 0; i < header->e_phnum; i++) {
        if (parts[i].p_type == PT_LOAD && image.base == 0) {
            image.base = start + parts[i].p_offset - parts[i].p_vaddr;
        } else if (parts[i].p_type == PT_DYNAMIC) {
            image.dynamic = (const ElfW(Dyn) *)(start + parts[i].p_offset);
        }
    }
    return image;
}

/* NULL: the image has no such table. */
static const void *table_of(const struct image *image, ElfW(Sxword) tag)
{
    const ElfW(Dyn) *entry = image->dynamic;
    while (entry->d_tag != DT_NULL && entry->d_tag != tag) {
        entry++;
    }
    return entry->d_tag == DT_NULL ? NULL : (const void *)(image->base + entry->d_un.d_ptr);
}

/* The number of symbols. The table by which GNU's loader finds them has a chain for each bucket, and the last of the
 * longest one ends the symbols. */
static uint32_t count_symbols(const struct image *image)
{
    const uint32_t *const plain = table_of(image, DT_HASH);
    const uint32_t *const gnu = table_of(image, DT_GNU_HASH);
    if (plain != NULL) {
        return plain[1];
    }
    if (gnu == NULL) {
        return 0;
    }
    const uint32_t *const buckets = gnu + 4 + gnu[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    uint32_t last = 0;
    for (uint32_t i = 0; i < gnu[0]; i++) {
        last = buckets[i] > last ? buckets[i] : last;
    }
    if (last < gnu[1]) {
        return 0;
    }
    while ((buckets[gnu[0] + last - gnu[1]] & 1) == 0) {
        last++;
    }
    return last + 1;
}

static noinline clock_function *find_clock(void)
{
    const uintptr_t start = os_given(OS_GIVEN_VDSO);
    const struct image image = start == 0 ? (struct image){ 0, NULL } : image_at(start);
    clock_function *function = ask_kernel;
    if (image.dynamic != NULL) {
        const ElfW(Sym) *const symbols = table_of(&image, DT_SYMTAB);
        const char *const names = table_of(&image, DT_STRTAB);
        const uint32_t count = symbols == NULL || names == NULL ? 0 : count_symbols(&image);
        for (uint32_t i = 0; i < count; i++) {
            if (symbols[i].st_shndx != SHN_UNDEF &&
                strncmp(names + symbols[i].st_name, clock_name, sizeof clock_name) == 0) {
                function = (clock_function *)(image.base + symbols[i].st_value);
            }
        }
    }
    store_release(&clock_found, function);
    return function;
}

struct timespec clock_read(clockid_t clock)
{
    clock_function *const known = load_acquire(&clock_found);
    struct timespec now = { 0 };
    if ((known != NULL ? known : find_clock())(clock, &now) != 0) {
        now = (struct timespec){ 0 };
    }
    return now;
}
