/* The C++ operators new and delete, in C, because the drop-in library must not need libstdc++.
 *
 * When an allocation fails, the program's new-handler is called, or std::bad_alloc is thrown, by the libstdc++ that the
 * program runs on, which is looked up at that moment. The names are those of the Itanium C++ ABI. */

#include "base/build.h"

#include <tslab/tslab.h>

#include "malloc/alloc.h"
#include "malloc/fast.h"
#include "os/fatal.h"

#include <dlfcn.h>
#include <stdint.h>

typedef void new_handler(void);

#if TSLAB_LINKED_IN
/* A C++ program has these, in itself or from its libstdc++. A statically linked program has no dlsym. */
extern void _ZSt17__throw_bad_allocv(void) __attribute__((weak));
extern new_handler *_ZSt15get_new_handlerv(void) __attribute__((weak));
#pragma weak dlsym
#define RUNTIME(function) ((function) != NULL ? (void *)(function) : cxx_runtime(#function))

static void *look_up(const char *name)
{
    return dlsym == NULL ? NULL : dlsym(RTLD_NEXT, name);
}
#else
#define RUNTIME(function) cxx_runtime(#function)

static void *look_up(const char *name)
{
    void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
    if (library == NULL) {
        return dlsym(RTLD_NEXT, name); /* a program that has libstdc++ linked into it may export its names */
    }
    void *function = dlsym(library, name);
    (void)dlclose(library);
    return function;
}
#endif

/* Finds a function of the libstdc++ that the program runs on, and not ours of the same name. NULL: there is none. The
 * dynamic linker may allocate memory for that and keep it, so plain malloc lands outside of epochs meanwhile. */
static void *cxx_runtime(const char *name)
{
    tslab_work_pause();
    void *function = look_up(name);
    (void)tslab_work_resume();
    return function;
}

/* Calls the new-handler, which may throw. False: there is none. */
static bool call_new_handler(void)
{
    new_handler *(*get_new_handler)(void) = (new_handler * (*)(void)) RUNTIME(_ZSt15get_new_handlerv);
    new_handler *handler = get_new_handler == NULL ? NULL : get_new_handler();
    if (handler == NULL) {
        return false;
    }
    handler();
    return true;
}

static noinline void *new_slow(size_t size, size_t alignment)
{
    invariant(alignment != 0);
    for (;;) {
        void *p = alloc_aligned(size, alignment);
        if (p != NULL) {
            return p;
        }
        if (!call_new_handler()) {
            void (*throw_bad_alloc)(void) = (void (*)(void))RUNTIME(_ZSt17__throw_bad_allocv);
            if (throw_bad_alloc != NULL) {
                throw_bad_alloc();
            }
            fatal("operator new: out of memory, and no libstdc++ to throw std::bad_alloc");
        }
    }
}

/* The nothrow forms call the handler, too, and return NULL when it throws. C cannot catch, but libstdc++'s own nothrow
 * forms can: they call the plain form, which is ours, and catch what it throws. */
static noinline void *new_slow_nothrow(size_t size)
{
    static const char nothrow; /* stands for std::nothrow, an empty object */
    void *p = object_alloc_slow(size);
    void *(*catching)(size_t, const void *);
    if (likely(p != NULL) || (catching = (void *(*)(size_t, const void *))cxx_runtime("_ZnwmRKSt9nothrow_t")) == NULL) {
        return p;
    }
    return catching(size, &nothrow);
}

static void *new_aligned_nothrow(size_t size, size_t alignment)
{
    static const char nothrow;
    void *p = alloc_aligned(size, alignment);
    void *(*catching)(size_t, size_t, const void *);
    if (likely(p != NULL) || (catching = (void *(*)(size_t, size_t, const void *))cxx_runtime(
                                  "_ZnwmSt11align_val_tRKSt9nothrow_t")) == NULL) {
        return p;
    }
    return catching(size, alignment, &nothrow);
}

static noinline void *new_slow_plain(size_t size)
{
    void *p = object_alloc_slow(size);
    return likely(p != NULL) ? p : new_slow(size, 1);
}

always_inline void *new_plain(size_t size)
{
    /* Checked builds must begin an object only once. new_slow tries again by itself. */
    return TSLAB_CHECKED ? new_slow(size, 1) : fast_alloc_or(size, new_slow_plain);
}

always_inline void *new_nothrow(size_t size)
{
    return TSLAB_CHECKED ? new_aligned_nothrow(size, 1) : fast_alloc_or(size, new_slow_nothrow);
}

static void *new_aligned(size_t size, size_t alignment)
{
    void *p = alloc_aligned(size, alignment);
    return likely(p != NULL) ? p : new_slow(size, alignment);
}

#define OPERATOR_NEW(name, parameters, value)                                                                          \
    TSLAB_API void *name parameters;                                                                                   \
    TSLAB_API void *name parameters                                                                                    \
    {                                                                                                                  \
        return value;                                                                                                  \
    }

#define OPERATOR_DELETE(name, parameters, size, alignment)                                                             \
    TSLAB_API void name parameters;                                                                                    \
    TSLAB_API void name parameters                                                                                     \
    {                                                                                                                  \
        fast_free_sized(p, size, alignment);                                                                           \
    }

#define UNUSED __attribute__((unused))

OPERATOR_NEW(_Znwm, (size_t size), new_plain(size))
OPERATOR_NEW(_Znam, (size_t size), new_plain(size))
OPERATOR_NEW(_ZnwmRKSt9nothrow_t, (size_t size, UNUSED const void *nothrow), new_nothrow(size))
OPERATOR_NEW(_ZnamRKSt9nothrow_t, (size_t size, UNUSED const void *nothrow), new_nothrow(size))
OPERATOR_NEW(_ZnwmSt11align_val_t, (size_t size, size_t alignment), new_aligned(size, alignment))
OPERATOR_NEW(_ZnamSt11align_val_t, (size_t size, size_t alignment), new_aligned(size, alignment))
OPERATOR_NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, (size_t size, size_t alignment, UNUSED const void *nothrow),
             new_aligned_nothrow(size, alignment))
OPERATOR_NEW(_ZnamSt11align_val_tRKSt9nothrow_t, (size_t size, size_t alignment, UNUSED const void *nothrow),
             new_aligned_nothrow(size, alignment))

OPERATOR_DELETE(_ZdlPv, (void *p), SIZE_MAX, 1)
OPERATOR_DELETE(_ZdaPv, (void *p), SIZE_MAX, 1)
OPERATOR_DELETE(_ZdlPvm, (void *p, UNUSED size_t size), size, 1)
OPERATOR_DELETE(_ZdaPvm, (void *p, UNUSED size_t size), size, 1)
OPERATOR_DELETE(_ZdlPvRKSt9nothrow_t, (void *p, UNUSED const void *nothrow), SIZE_MAX, 1)
OPERATOR_DELETE(_ZdaPvRKSt9nothrow_t, (void *p, UNUSED const void *nothrow), SIZE_MAX, 1)
OPERATOR_DELETE(_ZdlPvSt11align_val_t, (void *p, UNUSED size_t alignment), SIZE_MAX, alignment)
OPERATOR_DELETE(_ZdaPvSt11align_val_t, (void *p, UNUSED size_t alignment), SIZE_MAX, alignment)
OPERATOR_DELETE(_ZdlPvmSt11align_val_t, (void *p, UNUSED size_t size, UNUSED size_t alignment), size, alignment)
OPERATOR_DELETE(_ZdaPvmSt11align_val_t, (void *p, UNUSED size_t size, UNUSED size_t alignment), size, alignment)
OPERATOR_DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, (void *p, UNUSED size_t alignment, UNUSED const void *nothrow),
                SIZE_MAX, alignment)
OPERATOR_DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, (void *p, UNUSED size_t alignment, UNUSED const void *nothrow),
                SIZE_MAX, alignment)
