/* Structs of the interface whose size the caller tells. The caller may have been compiled with another version of the
 * header, whose struct has fewer members at its end, or more. */
#ifndef TSLAB_REPORT_SIZED_STRUCTS_H
#define TSLAB_REPORT_SIZED_STRUCTS_H

#include "base/bits.h"
#include "os/fatal.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { SIZED_MOST = 4096 };

/* Whether a struct of any version could have this size. */
static inline bool sized_is_valid(size_t size)
{
    return size != 0 && size <= SIZED_MOST && size % sizeof(uint64_t) == 0;
}

/* Gives the caller as many of our members as fit, and zeros for members that we do not know. */
static inline void sized_give(void *theirs, size_t size, const void *ours, size_t our_size)
{
    invariant(sized_is_valid(size));
    const size_t common = min_size(size, our_size);
    memcpy(theirs, ours, common);
    memset((char *)theirs + common, 0, size - common);
}

/* Takes the members that both sides know. The rest of ours becomes zero. False: the caller has set a member that we do
 * not know. */
static inline bool sized_take(void *ours, size_t our_size, const void *theirs, size_t size)
{
    invariant(sized_is_valid(size));
    const size_t common = min_size(size, our_size);
    memcpy(ours, theirs, common);
    memset((char *)ours + common, 0, our_size - common);
    const unsigned char *const rest = theirs;
    size_t at = common;
    while (at < size && rest[at] == 0) {
        at++;
    }
    return at == size;
}

#endif
