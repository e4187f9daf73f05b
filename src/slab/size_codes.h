/* Codes: a byte for each granule of the arena, out of line.
 *
 * In a chunk (chunk.h) the byte is the size code of the object that starts at the granule. It is 0 where no object
 * starts, and after the object's free. In all other runs codes are 0.
 *
 * Threads: any; chunk.h says which thread may write which code. */
#ifndef TSLAB_SLAB_SIZE_CODES_H
#define TSLAB_SLAB_SIZE_CODES_H

#include "os/fatal.h"
#include "space/arena.h"

enum {
    /* Codes up to CODE_EXACT count granules. Each code above adds one step of CODE_STEP_BYTES. */
    CODE_EXACT = 128,
    CODE_EXACT_BYTES = CODE_EXACT * GRANULE_BYTES,
    CODE_STEP_BYTES = 128,
    CODE_STEP_GRANULES = CODE_STEP_BYTES / GRANULE_BYTES,
};

/* The code of the granule that p lies in. */
always_inline atomic_u8 *size_code_at(const void *p)
{
    return arena.codes_of_zero + ((uintptr_t)p >> GRANULE_SHIFT);
}

/* The smallest code whose objects have at least size bytes; not 0. */
always_inline unsigned size_code_of_size(size_t size)
{
    return size <= CODE_EXACT_BYTES
               ? (unsigned)((size + GRANULE_BYTES - 1 + (size == 0)) >> GRANULE_SHIFT)
               : CODE_EXACT + (unsigned)((size - CODE_EXACT_BYTES + CODE_STEP_BYTES - 1) / CODE_STEP_BYTES);
}

/* The granules of an object with this code; 0 for code 0. */
always_inline uint32_t size_code_granules(unsigned code)
{
    invariant(code <= UINT8_MAX);
    return likely(code <= CODE_EXACT) ? code : CODE_EXACT + (code - CODE_EXACT) * CODE_STEP_GRANULES;
}

always_inline size_t size_code_bytes(unsigned code)
{
    return (size_t)size_code_granules(code) << GRANULE_SHIFT;
}

#endif
