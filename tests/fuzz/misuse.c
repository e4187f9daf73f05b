/* Misuse by pointer, of whatever lives at the moment, in a child: it must end the child by one line on stderr that
 * names the pointer, and abort. A checked build sees all of it. Another sees what the design sees for nothing, and what
 * it does not see must at least not end in any other way. */
#include "model.h"
#include "names.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#if !FUZZ_DROPIN
#include "space/arena.h"
#endif

/* The possible outcomes, as bits. */
enum { DOUBLE = 1, DOUBLE_OR_WILD = 2, INTERIOR = 4, FOREIGN = 8, LINES = 4, SURVIVES = 64 };
static const char *const lines[LINES] = {
    "double free of",
    "double or wild free of",
    "free of an interior pointer",
    "free of a foreign pointer",
};

enum { SURVIVED = 43, NOTHING_TO_DO = 44, PATIENCE_SECONDS = 60, SMALL = TSLAB_CHECKED > 1 ? 32 * 1024 : 256 * 1024 };

/* Misuse that only a checked build is sure to see. */
static unsigned if_checked(unsigned expected)
{
    return TSLAB_CHECKED ? expected : expected | SURVIVES;
}

static void expect(const void *p, unsigned expected)
{
    progress->misused = (uintptr_t)p;
    progress->expected = expected;
}

/* One that is freed by its pointer, or by its handle; NULL: there is none. */
static const struct object *some(const struct operation *operation, bool with_handle)
{
    for (size_t i = 0; i < objects.count; i++) {
        const struct object *const object = &objects.all[(operation->index + i) % objects.count];
        if ((object->handle.id != 0) == with_handle) {
            return object;
        }
    }
    return NULL;
}

/* A run of its own has whole pages, or, in the checked library, is large. A slot may have them or be so, too. */
static bool may_be_a_run(const struct object *object)
{
    return TSLAB_CHECKED > 1 ? object->usable > 16 * 1024 : object->usable % 4096 == 0;
}

/* The state of memory that was freed: it may be empty by then, another slab, or not mapped. */
static unsigned of_a_freed_one(const struct object *object)
{
    return DOUBLE | DOUBLE_OR_WILD | INTERIOR | (may_be_a_run(object) ? FOREIGN : 0);
}

/* Other objects in between, which may not have its place: then it is theirs. */
static bool others_come_and_go(const struct operation *operation, const struct object *object)
{
    bool has_place = true;
    for (unsigned i = 0; i < operation->value % 50; i++) {
        const size_t size = (operation->value >> 8) % 2000;
        char *const p = i % 2 == 0 ? tslab_malloc(object->asked) : tslab_malloc(size);
        has_place &= p == NULL || p + tslab_usable_size(p) <= object->start || object->start + object->usable <= p;
        if (i % 3 != 0) {
            tslab_free(p);
        }
    }
    return has_place;
}

static void misuse_freed(const struct operation *operation)
{
    const struct object *const object = some(operation, false);
    if (object == NULL) {
        return;
    }
    char *const p = object->start;
    tslab_free(p);
    const bool at_once = operation->way == 0;
    if (!at_once && !others_come_and_go(operation, object)) {
        return;
    }
    /* A large run that was freed is nobody's: that is seen for nothing. */
    const unsigned expected = of_a_freed_one(object);
    expect(p, at_once && object->usable > SMALL ? expected : if_checked(expected));
    switch (operation->value % 3) {
    case 0:
        tslab_free(p);
        break;
    case 1:
        NAME(free)(p);
        break;
    default:
        (void)tslab_realloc(p, 1 + operation->value % 5000);
    }
}

static void misuse_interior(const struct operation *operation)
{
    const struct object *const object = some(operation, false);
    if (object == NULL || object->usable < 2) {
        return;
    }
    const size_t offset = 1 + operation->value % (object->usable - 1);
    char *const p = object->start + (operation->value % 2 == 0 || offset < 16 ? offset : offset / 16 * 16);
    const unsigned expected = may_be_a_run(object) ? INTERIOR | DOUBLE_OR_WILD | FOREIGN : INTERIOR | DOUBLE_OR_WILD;
    expect(p, object->usable > SMALL ? expected : if_checked(expected));
    if (operation->index % 4 == 0) {
        (void)tslab_usable_size(p);
    } else {
        tslab_free(p);
    }
}

static void misuse_foreign(const struct operation *operation)
{
    static long long in_data[4];
    long long on_stack[4] = { 0 };
    void *const page = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *const pointers[] = { in_data, on_stack, page, (void *)unseen(4096), (void *)unseen(SIZE_MAX - 15) };
    char *p = pointers[operation->index % COUNT_OF(pointers)];
    expect(p, FOREIGN);
    if (operation->value % 4 == 0) {
        p = NAME(realloc)(p, unseen(100));
    } else {
        NAME(free)(p);
    }
}

static void misuse_wild(const struct operation *operation)
{
#if FUZZ_DROPIN
    misuse_foreign(operation);
#else
    char *const p = operation->index % 2 == 0
                        ? arena_address(0) + 64 * (operation->value % 200)
                        : arena_address((uint32_t)arena.committed_units - 4 + operation->value % 8);
    expect(p, arena_has_unit(arena_unit(p)) ? DOUBLE_OR_WILD : FOREIGN);
    tslab_free(p);
#endif
}

static void misuse_handle(const struct operation *operation)
{
    const struct object *const object = some(operation, true);
    if (object != NULL) {
        tslab_free(object->start);
        /* It may have been the last one of a closed epoch, which is gone then: its handles are refused. */
        const bool is_gone = object->owner->state != TSLAB_EPOCH_OPEN && object->owner->objects == 1 &&
                             tslab_handle_get(object->owner->epoch, object->handle) == NULL;
        expect(object->start, is_gone ? SURVIVES : if_checked(of_a_freed_one(object)));
        CHECK((tslab_handle_free(object->owner->epoch, object->handle) == TSLAB_STALE) == is_gone);
    }
}

/* Whatever the misused one went through, it comes to its slab here at the latest. */
static _Noreturn void be_the_child(const struct operation *operation, int file)
{
    static const int deadly[] = { SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGALRM };
    const struct rlimit no_core = { 0, 0 };
    for (size_t i = 0; i < COUNT_OF(deadly); i++) {
        (void)signal(deadly[i], SIG_DFL);
    }
    CHECK(setrlimit(RLIMIT_CORE, &no_core) == 0);
    alarm(PATIENCE_SECONDS);
    lanes_vanish(); /* says on stderr what a fork ends */
    CHECK(dup2(file, STDERR_FILENO) == STDERR_FILENO);
    static void (*const ways[])(const struct operation *) = { misuse_freed,    misuse_freed,    misuse_freed,
                                                              misuse_interior, misuse_interior, misuse_foreign,
                                                              misuse_wild,     misuse_handle };
    ways[operation->way](operation);
    _exit(progress->expected == 0 ? NOTHING_TO_DO : SURVIVED);
}

/* Whether this may follow the pointer: " (112 bytes, epoch 'label', draining)", or a part of it. */
static bool is_about(const char *about)
{
    static const char *const states[] = { ")\n", ", closed)\n", ", draining)\n", ", gone)\n" };
    if (strcmp(about, "\n") == 0 || strcmp(about, " (of another malloc, or of none)\n") == 0 ||
        strcmp(about, " (of another malloc, or of none; a library that is opened with RTLD_DEEPBIND has libc's)\n") ==
            0) {
        return true;
    }
    if (strncmp(about, " (", 2) != 0) {
        return false;
    }
    char *at;
    about += 2;
    if (strtoull(about, &at, 10) > 0 && strncmp(at, " bytes", 6) == 0) {
        if (strcmp(at, " bytes)\n") == 0) {
            return true;
        }
        about = at + strlen(" bytes, ");
    }
    if (strncmp(about, "epoch ", 6) != 0) {
        return false;
    }
    const char *const quote = strrchr(about, '\'');
    const char *const end = quote != NULL ? quote + 1 : about + 6 + strspn(about + 6, "0123456789");
    for (size_t i = 0; i < COUNT_OF(states); i++) {
        if (strcmp(end, states[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void check_end(pid_t child, int status, char *said, size_t length)
{
    said[length] = 0;
    char *const stack = strstr(said, "\n  #0 "); /* of a checked library */
    if (stack != NULL) {
        stack[1] = 0;
    }
    for (unsigned i = 0; i < LINES; i++) {
        char line[256];
        const int n = snprintf(line, sizeof line, "tslab[%d %.32s]: %s %#llx", (int)child,
                               program_invocation_short_name, lines[i], (unsigned long long)progress->misused);
        if ((progress->expected & 1u << i) != 0 && strncmp(said, line, (size_t)n) == 0 && is_about(said + n)) {
            CHECK_SAY(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "misuse was told, but did not abort: %#x",
                      (unsigned)status);
            return;
        }
    }
    const bool survived = WIFEXITED(status) && WEXITSTATUS(status) == SURVIVED && length == 0;
    CHECK_SAY(survived && (progress->expected & SURVIVES) != 0,
              "misuse of %#llx ended with status %#x, not with one of the lines %#x: %s",
              (unsigned long long)progress->misused, (unsigned)status, (unsigned)progress->expected, said);
}

void misuse_one(const struct operation *operation)
{
    if (!fork_is_worth_it(operation)) {
        return;
    }
    char said[1024];
    const uint64_t number = progress->operation;
    const int file = memfd_create("misuse", MFD_CLOEXEC);
    CHECK(file >= 0);
    expect(NULL, 0);
    objects_check(); /* what is lost with the threads that the child does not have can be checked only now */
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        be_the_child(operation, file);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    progress->operation = number;
    const ssize_t length = pread(file, said, sizeof said - 1, 0);
    CHECK(length >= 0 && close(file) == 0);
    if (!(WIFEXITED(status) && WEXITSTATUS(status) == NOTHING_TO_DO && length == 0)) {
        check_end(child, status, said, (size_t)length);
    }
}
