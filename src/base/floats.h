/* The floating point environment. The library computes with doubles where it samples and where it reports, inside of
 * malloc and free: the program's flags are as they were afterwards, its traps do not fire, and its rounding changes
 * nothing. What is computed in between is to be stored in memory, or decided by, before float_restore.
 *
 * Threads: the environment is the thread's own. */
#ifndef TSLAB_BASE_FLOATS_H
#define TSLAB_BASE_FLOATS_H

#include <stdint.h>

/* Puts the default environment in the place of the program's, which float_restore takes. */
static inline uint64_t float_hold(void)
{
    uint64_t floats = 0;
#if defined(__x86_64__)
    const uint32_t usual = 0x1f80; /* no flag, no trap, to nearest */
    uint32_t found;
    __asm__ volatile("stmxcsr %0\n\tldmxcsr %1" : "=m"(found) : "m"(usual) : "memory");
    floats = found;
#elif defined(__aarch64__)
    uint64_t control, status;
    __asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr\n\tmsr fpcr, xzr" : "=r"(control), "=r"(status) : : "memory");
    floats = control << 32 | (status & UINT32_MAX);
#endif
    return floats;
}

static inline void float_restore(uint64_t floats)
{
#if defined(__x86_64__)
    const uint32_t found = (uint32_t)floats;
    __asm__ volatile("ldmxcsr %0" : : "m"(found) : "memory");
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0\n\tmsr fpsr, %1" : : "r"(floats >> 32), "r"(floats & UINT32_MAX) : "memory");
#else
    (void)floats;
#endif
}

#endif
