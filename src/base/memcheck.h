/* Tells the tools that watch memory, if there is one in the process, what the program may touch: AddressSanitizer,
 * when the program is built with it, and valgrind, where this library was built with its header at hand.
 *
 * A library that is itself built with AddressSanitizer tells it nothing: its own look at free memory would be a
 * finding. Only guards (common/guard.h) call this, so no other build pays for it. Threads: any. A part of 16 bytes
 * belongs to one.
 */
#ifndef TSLAB_BASE_MEMCHECK_H
#define TSLAB_BASE_MEMCHECK_H

#include "base/build.h"

#include <stddef.h>

#if defined __has_include
#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#endif
#endif

/* Of AddressSanitizer's interface. They are there in a process that has it. */
__attribute__((weak)) extern void __asan_poison_memory_region(void const volatile *start, size_t bytes);
__attribute__((weak)) extern void __asan_unpoison_memory_region(void const volatile *start, size_t bytes);

#if defined __SANITIZE_ADDRESS__
enum { TELLS_ASAN = 0 };
#elif defined __has_feature
enum { TELLS_ASAN = !__has_feature(address_sanitizer) };
#else
enum { TELLS_ASAN = 1 };
#endif

/* The program, or this library, may touch all of it. */
static inline void memcheck_open(const void *start, size_t bytes)
{
    if (TELLS_ASAN && __asan_unpoison_memory_region != NULL) {
        __asan_unpoison_memory_region(start, bytes);
    }
#ifdef VALGRIND_MAKE_MEM_DEFINED
    (void)VALGRIND_MAKE_MEM_DEFINED(start, bytes);
#endif
}

/* Nobody may, until it is opened again. */
static inline void memcheck_close(const void *start, size_t bytes)
{
    if (TELLS_ASAN && __asan_poison_memory_region != NULL) {
        __asan_poison_memory_region(start, bytes);
    }
#ifdef VALGRIND_MAKE_MEM_NOACCESS
    (void)VALGRIND_MAKE_MEM_NOACCESS(start, bytes);
#endif
}

#endif
