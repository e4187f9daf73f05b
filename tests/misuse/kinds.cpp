/* Misuse by the kinds that programs show: each in a process of its own, on the malloc that is preloaded.
 *
 *   kinds release | checked | system
 *
 * names the malloc that it runs on; system: says how each case ends, and checks nothing.
 *
 * A case runs to its end, and then exits as programs do: what nothing has come by until then may be seen there. */
#include "workers.h"

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>
#include <malloc.h>
#include <new>
#include <sys/mman.h>

extern "C" {
typedef void free_sized_function(void *, size_t);
typedef void free_aligned_sized_function(void *, size_t, size_t);
}

namespace
{

enum { SMALL = 24, LARGE = 400000 };

/* The compiler must not know what a pointer points to, nor that it is freed. */
template <class T> T *veiled(T *p)
{
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

char *get(size_t size)
{
    char *const p = static_cast<char *>(malloc(size));
    CHECK(p != nullptr);
    return veiled(p);
}

void drop(void *p)
{
    free(veiled(p));
}

void write_to(char *p)
{
    *veiled(const_cast<volatile char *>(p)) = 0x5b;
}

void read_from(const char *p)
{
    (void)*veiled(const_cast<const volatile char *>(p));
}

const char completes[] = "";
const char faults[] = "a fault";
const char sized[] = "sized free of";
const char aligned[] = "aligned free of";
const char twice[] = "double free of";
const char foreign[] = "free of a foreign pointer";
const char interior[] = "free of an interior pointer";
const char overflow[] = "write beyond the end of";
const char late_double[] = "found at exit: a double free of";
const char late_interior[] = "found at exit: a free of an interior pointer";

struct kind {
    const char *name;
    void (*body)();
    const char *release;
    const char *checked;
};

kind kinds[64];
size_t kind_count;

struct listed {
    explicit listed(const kind &kind)
    {
        kinds[kind_count++] = kind;
    }
};

/* CASE(name, how it ends in the release library, and in the checked one) { ... } */
#define CASE(name, release, checked)                                                                                   \
    void name();                                                                                                       \
    const listed name##_is_listed({ #name, name, release, checked });                                                  \
    void name()

/* Sizes that are said at the end. */

template <class F> F *function(const char *name)
{
    F *const found = reinterpret_cast<F *>(dlsym(RTLD_DEFAULT, name));
    if (found == nullptr) {
        exit(0); /* the system's malloc may not have it */
    }
    return found;
}

CASE(sized_delete_too_large, completes, sized)
{
    ::operator delete(veiled(::operator new(SMALL)), SMALL + 40);
}

CASE(sized_delete_too_small, completes, sized)
{
    ::operator delete(veiled(::operator new(SMALL)), SMALL - 1);
}

CASE(sized_delete_of_array, completes, sized)
{
    ::operator delete[](veiled(::operator new[](100)), 8);
}

CASE(sized_delete_of_large, completes, sized)
{
    ::operator delete(veiled(::operator new(LARGE)), LARGE + 1);
}

CASE(sized_delete_with_alignment, completes, sized)
{
    ::operator delete(veiled(::operator new(256, std::align_val_t(64))), 255, std::align_val_t(64));
}

CASE(delete_with_other_alignment, completes, aligned)
{
    char *const p = static_cast<char *>(::operator new(256));
    char *const other = static_cast<char *>(::operator new(256));
    const bool first = reinterpret_cast<uintptr_t>(p) % 4096 != 0;
    ::operator delete(veiled(first ? p : other), std::align_val_t(4096));
}

CASE(free_sized_wrong, completes, sized)
{
    function<free_sized_function>("free_sized")(get(SMALL), SMALL + 1);
}

CASE(free_aligned_sized_wrong, completes, sized)
{
    function<free_aligned_sized_function>("free_aligned_sized")(aligned_alloc(64, 128), 64, 64);
}

struct base {
    int a[4];
};
struct derived : base {
    int b[40];
};

CASE(delete_of_another_type, completes, sized)
{
    base *const p = veiled(static_cast<base *>(new derived));
    delete p;
}

struct polymorphic {
    virtual ~polymorphic() = default;
    int a[4];
};
struct larger : polymorphic {
    int b[40];
};
struct with_destructor {
    ~with_destructor()
    {
        write_to(&c);
    }
    char c;
};

CASE(sizes_that_are_right, completes, completes)
{
    delete veiled(static_cast<polymorphic *>(new larger));
    delete[] veiled(new with_destructor[7]);
    delete[] veiled(new with_destructor[0]);
    delete[] veiled(new int[0]);
    ::operator delete(nullptr, 10);
    ::operator delete(veiled(::operator new(0)), static_cast<size_t>(0));
    ::operator delete(veiled(::operator new(LARGE)), LARGE);
    ::operator delete(veiled(::operator new(300, std::align_val_t(4096))), 300, std::align_val_t(4096));
    ::operator delete(veiled(::operator new(5, std::nothrow)), static_cast<size_t>(5));
    auto *const free_of_size = function<free_sized_function>("free_sized");
    auto *const free_of_aligned = function<free_aligned_sized_function>("free_aligned_sized");
    free_of_size(nullptr, 3);
    free_of_size(get(0), 0);
    free_of_size(veiled(calloc(7, 9)), 63);
    free_of_size(veiled(realloc(get(100), 37)), 37);
    free_of_size(veiled(realloc(get(10), 5000)), 5000);
    free_of_size(veiled(realloc(get(LARGE), LARGE / 3)), LARGE / 3);
    free_of_size(veiled(realloc(get(LARGE), LARGE * 3)), static_cast<size_t>(LARGE) * 3);
    free_of_aligned(aligned_alloc(64, 640), 64, 640);
    free_of_aligned(aligned_alloc(65536, LARGE), 65536, LARGE);
}

/* Freed twice. */

CASE(double_free_of_small_delayed, late_double, twice)
{
    char *const p = get(SMALL);
    char *const q = get(SMALL);
    drop(p);
    drop(q);
    drop(p);
}

/* Freed, and never handed out so. */

CASE(free_of_protected_pages, foreign, foreign)
{
    drop(get(SMALL));
    drop(mmap(nullptr, 1 << 16, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

CASE(free_of_unaligned_small, late_interior, interior)
{
    drop(get(SMALL) + 8);
}

/* Written beyond the end. */

CASE(overflow_of_small_by_one_byte, completes, overflow)
{
    char *const p = get(SMALL);
    write_to(p + malloc_usable_size(p));
    drop(p);
}

CASE(overflow_of_small_by_eight_bytes, completes, overflow)
{
    char *const p = get(SMALL);
    memset(veiled(p + malloc_usable_size(p)), 0x5b, 8);
    drop(p);
}

CASE(overflow_that_is_never_freed, completes, overflow)
{
    memset(veiled(get(SMALL)), 0x5b, SMALL + 8);
}

CASE(overflow_by_memcpy, completes, overflow)
{
    char *const p = get(16);
    char *const q = get(64);
    memset(q, 0x5b, 64);
    memcpy(veiled(p), q, veiled(q) == nullptr ? 0 : 64);
}

CASE(overflow_of_string, completes, overflow)
{
    char *const p = get(16);
    strcpy(veiled(p), veiled("a string that is longer than sixteen characters"));
}

/* Touched after the free. */

CASE(write_after_free_and_reuse_of_small, completes, overflow)
{
    char *const p = get(SMALL);
    drop(p);
    char *q = get(SMALL);
    for (int i = 0; i < 5000 && q != p; i++) {
        q = get(SMALL);
    }
    write_to(p + SMALL);
    drop(q);
}

CASE(write_after_free_and_reuse_of_large, completes, faults)
{
    char *const p = get(LARGE);
    drop(p);
    for (int i = 0; i < 10; i++) {
        (void)get(LARGE);
    }
    write_to(p);
}

/* Nothing asked for, and touched. */

CASE(write_to_nothing, completes, faults)
{
    char *const p = get(0);
    write_to(p);
    drop(p);
}

CASE(read_of_nothing, completes, faults)
{
    read_from(get(0));
}

CASE(impossible_size, completes, completes)
{
    errno = 0;
    CHECK(veiled(malloc(unseen(SIZE_MAX - 8))) == nullptr && errno == ENOMEM);
}

/* How a case ended: one of the words above, or what it said. */
const char *ended(const kind &kind, char *said, size_t capacity)
{
    int file;
    fflush(stdout);
    const pid_t child = fork_heard(&file);
    if (child == 0) {
        kind.body();
        exit(0);
    }
    const int status = child_heard(child, file, said, capacity);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV && said[0] == 0) {
        return faults;
    }
    if (WIFEXITED(status) && said[0] == 0) {
        return WEXITSTATUS(status) == 0 ? completes : "an exit code";
    }
    char start[64];
    snprintf(start, sizeof start, "tslab[%d %.32s]: ", int(child), program_invocation_short_name);
    const bool aborted = WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
    return aborted && strncmp(said, start, strlen(start)) == 0 ? said + strlen(start) : said;
}

} // namespace

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    CHECK_SAY(strcmp(argv[1], "release") == 0 || strcmp(argv[1], "checked") == 0 || strcmp(argv[1], "system") == 0,
              "there is no malloc %s", argv[1]);
    int wrong = 0;
    for (size_t i = 0; i < kind_count; i++) {
        const kind &kind = kinds[i];
        char said[512];
        const char *const found = ended(kind, said, sizeof said);
        if (strcmp(argv[1], "system") == 0) {
            printf("%-40s %s\n", kind.name, found == completes ? "completes" : found);
            continue;
        }
        const char *const wanted = strcmp(argv[1], "checked") == 0 ? kind.checked : kind.release;
        const bool is_line = wanted != completes && wanted != faults;
        if (is_line ? strncmp(found, wanted, strlen(wanted)) != 0 || strncmp(found + strlen(wanted), " 0x", 3) != 0
                    : found != wanted) {
            printf("%s: not \"%s\" but \"%s\"\n", kind.name, wanted, found);
            wrong++;
        }
    }
    return wrong == 0 ? 0 : 1;
}
