/* Memory that crosses the border of a library opened with RTLD_DEEPBIND: our free says what came from libc's malloc.
 * libc's free ends the program, or faults, where it is given an object of ours.
 *
 *   deepbind LIBRARY */
#include "workers.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>

static void *(*library_get)(size_t);
static void (*library_put)(void *);

/* Runs a body in a child; returns its status, and puts what it said on stderr into said. */
static int ends_as(void (*body)(int), char *said, size_t capacity, pid_t *child)
{
    int file;
    *child = fork_heard(&file);
    if (*child == 0) {
        body(STDERR_FILENO);
        _exit(0);
    }
    const int status = child_heard(*child, file, said, capacity);
    cut_stacks(said);
    return status;
}

static void *theirs; /* the same in every child */

static void free_theirs(int end)
{
    (void)end;
    free(theirs);
}

static void free_ours_there(int end)
{
    (void)end;
    library_put(malloc(100));
}

static void keep_apart(int end)
{
    (void)end;
    library_put(library_get(100));
    free(malloc(100));
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    void *const library = dlopen(argv[1], RTLD_NOW | RTLD_DEEPBIND);
    CHECK_SAY(library != NULL, "%s", dlerror());
    *(void **)&library_get = dlsym(library, "library_get");
    *(void **)&library_put = dlsym(library, "library_put");
    CHECK(library_get != NULL && library_put != NULL);
    theirs = library_get(100);
    char said[512];
    char line[512];
    pid_t child;
    int status = ends_as(free_theirs, said, sizeof said, &child);
    snprintf(line, sizeof line,
             "tslab[%d %s]: free of a foreign pointer %p (of another malloc, or of none; a library that is opened with "
             "RTLD_DEEPBIND has libc's)\n",
             (int)child, program_invocation_short_name, theirs);
    CHECK_SAY(strcmp(said, line) == 0, "not \"%s\" but \"%s\"", line, said);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    status = ends_as(free_ours_there, said, sizeof said, &child);
    CHECK(WIFSIGNALED(status) && (WTERMSIG(status) == SIGABRT || WTERMSIG(status) == SIGSEGV));
    CHECK_SAY(strncmp(said, "tslab", 5) != 0, "it said: %s", said);
    CHECK(ends_as(keep_apart, said, sizeof said, &child) == 0 && said[0] == 0);
    return 0;
}
