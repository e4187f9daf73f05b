/* A kernel with larger pages, as far as a program can tell by its own calls: preloaded, it says that pages have
 * LARGE_PAGE_BYTES, gives memory out in whole ones, and does to whole ones what it is asked to do to a part. An address
 * that is not at a page, which such a kernel would refuse, ends the program. Calls of libc come by its functions, those
 * of tslab from its addresses (trap.h): in the drop-in where there is one, else in the program. */
#include "trap.h"
#include "variable.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { KERNEL_PAGE = 4096 };

/* glibc's own name of it. */
unsigned long __getauxval(unsigned long type);

static size_t page_bytes(void)
{
    static size_t bytes;
    if (bytes == 0) {
        const char *const text = variable("LARGE_PAGE_BYTES");
        bytes = text == NULL ? 0 : strtoul(text, NULL, 10);
        if (bytes < KERNEL_PAGE || (bytes & (bytes - 1)) != 0) {
            static const char message[] = "large pages: LARGE_PAGE_BYTES is to be a power of two of at least 4096\n";
            (void)!write(STDERR_FILENO, message, sizeof message - 1);
            _exit(1);
        }
    }
    return bytes;
}

static size_t whole(size_t bytes)
{
    return (bytes + page_bytes() - 1) & ~(page_bytes() - 1);
}

static void expect_page(const char *call, const void *start)
{
    if ((uintptr_t)start % page_bytes() != 0) {
        char message[128];
        const int length =
            snprintf(message, sizeof message, "large pages: %s of %p, which is not at a page\n", call, start);
        (void)!write(STDERR_FILENO, message, (size_t)length);
        abort();
    }
}

static long trapped(const struct trapped_call *call);

struct range {
    uintptr_t start, end;
};

/* The program comes first. */
static int find_tslab(struct dl_phdr_info *binary, size_t size, void *found)
{
    struct range *const range = found;
    const int is_dropin = strstr(binary->dlpi_name, "libtslab") != NULL;
    (void)size;
    if (range->end == 0 || is_dropin) {
        for (int i = 0; i < binary->dlpi_phnum; i++) {
            const ElfW(Phdr) *const part = &binary->dlpi_phdr[i];
            range->end = part->p_type == PT_LOAD ? binary->dlpi_addr + part->p_vaddr + part->p_memsz : range->end;
        }
        range->start = binary->dlpi_addr != 0 ? binary->dlpi_addr : 1;
    }
    return is_dropin;
}

static void prepare(void)
{
    static atomic_int is_prepared;
    struct range range = { 0, 0 };
    if (atomic_exchange(&is_prepared, 1) == 0) {
        (void)dl_iterate_phdr(find_tslab, &range);
        /* An emulator has no filters. It has pages of that size itself. */
        if (!IS_EMULATED && !trap_calls(range.start, range.end, trapped)) {
            static const char message[] = "large pages: the kernel allows no filter\n";
            (void)!write(STDERR_FILENO, message, sizeof message - 1);
            _exit(1);
        }
    }
}

__attribute__((constructor)) static void prepare_early(void)
{
    prepare();
}

unsigned long getauxval(unsigned long type)
{
    prepare();
    return type == AT_PAGESZ ? page_bytes() : __getauxval(type);
}

int getpagesize(void)
{
    return (int)page_bytes();
}

long sysconf(int name)
{
    long (*const real)(int) = (long (*)(int))dlsym(RTLD_NEXT, "sysconf");
    return name == _SC_PAGESIZE ? (long)page_bytes() : real(name);
}

static void *kernel_mmap(void *start, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    return (void *)syscall(SYS_mmap, start, bytes, protection, flags, fd, offset);
}

void *mmap(void *start, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    if (start != NULL) {
        expect_page("mmap", start);
        void *const placed = kernel_mmap(start, whole(bytes), protection, flags, fd, offset);
        if (placed == start || placed == MAP_FAILED) {
            return placed;
        }
        (void)syscall(SYS_munmap, placed, whole(bytes)); /* the kernel has not followed a hint */
    }
    const size_t wanted = whole(bytes);
    const size_t slack = page_bytes() - KERNEL_PAGE;
    if (wanted < bytes || wanted + slack < wanted) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    /* The rest of the rounding at both ends goes back. A file takes the place of what was found for it: it has nothing
     * for the rest of its last page. */
    const int anonymous = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    char *const mapping = fd == -1 ? kernel_mmap(NULL, wanted + slack, protection, flags, -1, 0)
                                   : kernel_mmap(NULL, wanted + slack, PROT_NONE, anonymous, -1, 0);
    if (mapping == MAP_FAILED) {
        return MAP_FAILED;
    }
    char *const first = (char *)whole((uintptr_t)mapping);
    const size_t before = (size_t)(first - mapping);
    if (before != 0) {
        (void)syscall(SYS_munmap, mapping, before);
    }
    if (before != slack) {
        (void)syscall(SYS_munmap, first + wanted, slack - before);
    }
    return fd == -1 ? first : kernel_mmap(first, bytes, protection, flags | MAP_FIXED, fd, offset);
}

int munmap(void *start, size_t bytes)
{
    expect_page("munmap", start);
    return (int)syscall(SYS_munmap, start, whole(bytes));
}

int mprotect(void *start, size_t bytes, int protection)
{
    expect_page("mprotect", start);
    return (int)syscall(SYS_mprotect, start, whole(bytes), protection);
}

int madvise(void *start, size_t bytes, int advice)
{
    expect_page("madvise", start);
    return (int)syscall(SYS_madvise, start, whole(bytes), advice);
}

/* A page is in memory when a part of it is. */
int mincore(void *start, size_t bytes, unsigned char *resident)
{
    expect_page("mincore", start);
    const size_t parts = page_bytes() / KERNEL_PAGE;
    for (size_t at = 0; at < bytes; at += page_bytes()) {
        unsigned char of_parts[1 << 10];
        if (parts > sizeof of_parts || syscall(SYS_mincore, (char *)start + at, page_bytes(), of_parts) != 0) {
            return -1;
        }
        unsigned char any = 0;
        for (size_t i = 0; i < parts; i++) {
            any |= of_parts[i];
        }
        *resident++ = any & 1;
    }
    return 0;
}

/* The results of the functions above, in the kernel's way. */
static long answer(long result)
{
    return result == -1 ? -errno : result;
}

static long trapped(const struct trapped_call *call)
{
    const long *const w = call->words;
    void *const start = (void *)w[0];
    const size_t bytes = (size_t)w[1];
    switch (call->number) {
    case SYS_mmap:
        return answer((long)mmap(start, bytes, (int)w[2], (int)w[3], (int)w[4], w[5]));
    case SYS_munmap:
        return answer(munmap(start, bytes));
    case SYS_mprotect:
        return answer(mprotect(start, bytes, (int)w[2]));
    case SYS_madvise:
        return answer(madvise(start, bytes, (int)w[2]));
    case SYS_mincore:
        return answer(mincore(start, bytes, (unsigned char *)w[2]));
    case SYS_rt_sigprocmask:
        return 0;
    default:
        return trap_pass(call);
    }
}

static int (*libc_sigmask)(int verb, const sigset_t *set, sigset_t *before);

int pthread_sigmask(int verb, const sigset_t *set, sigset_t *before)
{
    sigset_t room;
    if (libc_sigmask == NULL) {
        libc_sigmask = (int (*)(int, const sigset_t *, sigset_t *))dlsym(RTLD_NEXT, "pthread_sigmask");
    }
    return libc_sigmask(verb, verb == SIG_UNBLOCK ? set : trap_spare(set, &room), before);
}

int sigprocmask(int verb, const sigset_t *set, sigset_t *before)
{
    errno = pthread_sigmask(verb, set, before);
    return errno == 0 ? 0 : -1;
}

/* A test's framework watches this signal for itself. */
int sigaction(int number, const struct sigaction *action, struct sigaction *before)
{
    static int (*real)(int, const struct sigaction *, struct sigaction *);
    if (real == NULL) {
        real = (int (*)(int, const struct sigaction *, struct sigaction *))dlsym(RTLD_NEXT, "sigaction");
    }
    return real(number, number == SIGSYS && (action->sa_flags & SA_SIGINFO) == 0 ? NULL : action, before);
}

sighandler_t signal(int number, sighandler_t handler)
{
    static sighandler_t (*real)(int, sighandler_t);
    if (real == NULL) {
        real = (sighandler_t(*)(int, sighandler_t))dlsym(RTLD_NEXT, "signal");
    }
    return number == SIGSYS ? SIG_DFL : real(number, handler);
}
