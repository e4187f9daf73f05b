/* Bit arithmetic, and the few compiler keywords that the engine uses. Knows nothing of memory management. */
#ifndef TSLAB_BASE_BITS_H
#define TSLAB_BASE_BITS_H

#include "base/build.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CACHE_LINE = 64 };

#define likely(x)     __builtin_expect(!!(x), 1)
#define unlikely(x)   __builtin_expect(!!(x), 0)
#define noinline      __attribute__((noinline))
#define always_inline static inline __attribute__((always_inline))

/* A variable of the thread's own. The thread pointer is read with one instruction. A library that is loaded late can
 * afford that for a few words only. The general way would call malloc. */
#define per_thread _Thread_local __attribute__((tls_model("initial-exec")))

/* The index of the lowest set bit; x must not be 0. */
always_inline unsigned bit_lowest(uint64_t x)
{
    return (unsigned)__builtin_ctzll(x);
}

/* The index of the highest set bit; x must not be 0. */
always_inline unsigned bit_highest(uint64_t x)
{
    return 63u - (unsigned)__builtin_clzll(x);
}

/* Counts set bits without the library call that baseline x86-64 would make. */
always_inline unsigned bit_count(uint64_t x)
{
    x = x - ((x >> 1) & 0x5555555555555555u);
    x = (x & 0x3333333333333333u) + ((x >> 2) & 0x3333333333333333u);
    x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu;
    return (unsigned)((x * 0x0101010101010101u) >> 56);
}

/* A mask of the n lowest bits, n from 0 to 64. */
always_inline uint64_t bit_mask(unsigned n)
{
    return n >= 64 ? UINT64_MAX : ((uint64_t)1 << n) - 1;
}

always_inline bool is_power_of_two(size_t x)
{
    return x != 0 && (x & (x - 1)) == 0;
}

/* unit must be a power of two. round_up wraps to 0 when the result does not fit. */
always_inline size_t round_down(size_t x, size_t unit)
{
    return x & ~(unit - 1);
}

always_inline size_t round_up(size_t x, size_t unit)
{
    return (x + unit - 1) & ~(unit - 1);
}

always_inline size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

always_inline size_t max_size(size_t a, size_t b)
{
    return a > b ? a : b;
}

#endif
