/* The C++ operators where there is no C++: a C program may load what calls them, and nobody is there to throw. */
#include "workers.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

typedef void *plain_new(size_t);
typedef void *nothrow_new(size_t, const void *);
typedef void *aligned_new(size_t, size_t);
typedef void *aligned_nothrow_new(size_t, size_t, const void *);

/* The compiler must not see a size that no object can have. */
static size_t too_much(void)
{
    return unseen(SIZE_MAX / 2);
}

static void *operator_named(const char *name)
{
    void *function = dlsym(RTLD_DEFAULT, name);
    CHECK_SAY(function != NULL, "there is no %s", name);
    return function;
}

static void call_plain(void)
{
    (void)((plain_new *)operator_named("_Znwm"))(too_much());
}

static void call_aligned(void)
{
    (void)((aligned_new *)operator_named("_ZnwmSt11align_val_t"))(too_much(), 64);
}

/* The child's line on stderr as it aborts. */
static void expect_abort(void (*call)(void))
{
    int file;
    const pid_t child = fork_heard(&file);
    if (child == 0) {
        call();
        _exit(0);
    }
    char said[256], expected[256];
    const int status = child_heard(child, file, said, sizeof said);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    snprintf(expected, sizeof expected,
             "tslab[%d %s]: operator new: out of memory, and no libstdc++ to throw std::bad_alloc\n", (int)child,
             program_invocation_short_name);
    CHECK_SAY(strcmp(said, expected) == 0, "it said: %s", said);
}

int main(void)
{
    nothrow_new *const nothrow = (nothrow_new *)operator_named("_ZnwmRKSt9nothrow_t");
    aligned_nothrow_new *const aligned = (aligned_nothrow_new *)operator_named("_ZnwmSt11align_val_tRKSt9nothrow_t");
    CHECK(nothrow(too_much(), "") == NULL);
    CHECK(aligned(too_much(), 64, "") == NULL);
    expect_abort(call_plain);
    expect_abort(call_aligned);
    free(nothrow(100, ""));
    free(aligned(100, 64, ""));
    return 0;
}
