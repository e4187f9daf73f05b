/* System calls, made by the library itself. It holds locks while it makes some of them. A function of libc's of the
 * same name may be another library's by then, and may allocate at its first call, or wait for a lock of its own under
 * which another thread allocates (docs/decisions/system-calls.md).
 *
 * SYSTEM_CALL(name, arguments...) returns what the kernel does. An error is a negative number, -ENOMEM for instance,
 * and errno is left alone. Of the clock see clock.h.
 *
 * Threads: any, also in signal handlers. */
#ifndef TSLAB_OS_SYSTEM_CALL_H
#define TSLAB_OS_SYSTEM_CALL_H

#include "base/bits.h"

#include <stddef.h>
#include <sys/syscall.h>

#if !defined(__x86_64__) && !defined(__aarch64__)
#include <errno.h>
#include <unistd.h>
#endif

#define SYSTEM_CALL(name, ...) SYSTEM_CALL_WORDS(SYS_##name, __VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define SYSTEM_CALL_WORDS(number, a, b, c, d, e, f, ...)                                                               \
    system_call((number), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

always_inline long system_call(long number, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
    long result;
    register long fourth __asm__("r10") = d;
    register long fifth __asm__("r8") = e;
    register long sixth __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long code __asm__("x8") = number;
    register long first __asm__("x0") = a;
    register long second __asm__("x1") = b;
    register long third __asm__("x2") = c;
    register long fourth __asm__("x3") = d;
    register long fifth __asm__("x4") = e;
    register long sixth __asm__("x5") = f;
    __asm__ volatile("svc 0"
                     : "+r"(first)
                     : "r"(code), "r"(second), "r"(third), "r"(fourth), "r"(fifth), "r"(sixth)
                     : "memory", "cc");
    return first;
#else
    const int saved = errno;
    long result = syscall(number, a, b, c, d, e, f);
    if (result == -1) {
        result = -errno;
        errno = saved;
    }
    return result;
#endif
}

/* The same of a call that returns an address. NULL: it failed. */
always_inline void *system_call_address(long result)
{
    return result < 0 && result > -4096 ? NULL : (void *)result;
}

#endif
