/* Beside fuzz_seeded: which functions of the library have its operations called? The program fails when it ends without
 * having called each one that the golden lists name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 1 << 16 };

/* A byte for each, set in reached.S, in whichever process. */
extern char reached[PAGE];
char reached[PAGE] __attribute__((aligned(PAGE)));

/* One after another, an empty one at the end. */
extern const char reached_names[];

/* The file that all processes of a run share, by a name that their environment has. */
static const char variable[] = "FUZZ_REACHED";

static _Noreturn void give_up(const char *what)
{
    fprintf(stderr, "fuzz: %s\n", what);
    _exit(2);
}

__attribute__((constructor)) static void share(void)
{
    if (getenv(variable) == NULL) {
        static char path[64];
        const int file = memfd_create("reached", 0);
        if (file < 0 || ftruncate(file, PAGE) != 0) {
            give_up("there is no file in memory");
        }
        snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), file);
        setenv(variable, path, 1);
    }
    FILE *const file = fopen(getenv(variable), "r+");
    if (file == NULL ||
        mmap(reached, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fileno(file), 0) != reached) {
        give_up("the page of what was reached cannot be shared");
    }
    fclose(file);
}

/* The program that was started first is the last to end. */
__attribute__((destructor)) static void tell(void)
{
    size_t count = 0, missing = 0;
    if (getenv("FUZZ_CASE") != NULL) {
        return;
    }
    for (const char *name = reached_names; *name != 0; name += strlen(name) + 1) {
        if (reached[count++] == 0) {
            fprintf(stderr, "fuzz: no operation calls %s\n", name);
            missing++;
        }
    }
    printf("%zu of the %zu functions of the library were called\n", count - missing, count);
    fflush(stdout);
    if (missing > 0) {
        _exit(1);
    }
}
