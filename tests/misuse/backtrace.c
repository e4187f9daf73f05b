/* Makes a mistake with memory on the malloc that is preloaded, and ends by it.
 *
 *   backtrace double | overflow | deep | fault | handler
 *
 * fault: the loader's dladdr, which the library asks for names, is this program's own, and writes to nowhere. handler:
 * says on stdout whether a handler of SIGABRT finds the program's handler of SIGSEGV in place. */
#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool faults;

/* GCC must neither inline calls nor make jumps of them. */
#define KEPT         __attribute__((noinline, noclone))
#define RETURNS_HERE __asm__ volatile("" : : : "memory")

extern KEPT int dladdr(const void *address, Dl_info *info);

int dladdr(const void *address, Dl_info *info)
{
    static int *volatile nowhere;
    (void)address;
    memset(info, 0, sizeof *info);
    if (faults) {
        *nowhere = 1;
    }
    return 0;
}

static KEPT char *make_it(size_t size)
{
    char *const p = malloc(size);
    RETURNS_HERE;
    return p;
}

static KEPT void drop_it(char *p)
{
    free(p);
    RETURNS_HERE;
}

static KEPT void drop_deep(char *p, int depth)
{
    if (depth == 0) {
        drop_it(p);
    } else {
        drop_deep(p, depth - 1);
    }
    RETURNS_HERE;
}

static void on_segv(int number)
{
    (void)number;
}

static void on_abort(int number)
{
    struct sigaction found;
    (void)number;
    (void)sigaction(SIGSEGV, NULL, &found);
    if (found.sa_handler == on_segv) {
        (void)!write(STDOUT_FILENO, "mine", 4);
    }
}

int main(int count, char **words)
{
    enum { SIZE = 300, DEEP = 100 };
    const char *const what = count > 1 ? words[1] : "";
    char *volatile p = make_it(SIZE);
    faults = strcmp(what, "fault") == 0;
    if (strcmp(what, "handler") == 0) {
        signal(SIGSEGV, on_segv);
        signal(SIGABRT, on_abort);
    }
    if (strcmp(what, "overflow") == 0) {
        p[SIZE] = 1;
    } else {
        drop_it(p);
    }
    drop_deep(p, strcmp(what, "deep") == 0 ? DEEP : 0);
    return 0;
}
