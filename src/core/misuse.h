/* The end of the program for a misuse by pointer: one line that says what was done with which pointer, and what the
 * engine knows of the place: its size, the epoch that it belongs to, and what became of that.
 *
 * It reads tables only, as others change them: where they do, the line may be out of date, and the program ends all the
 * same. Takes no lock, allocates nothing, and needs less than 1 KiB of stack. Threads: any. */
#ifndef TSLAB_CORE_MISUSE_H
#define TSLAB_CORE_MISUSE_H

#include "base/bits.h"

#include <stddef.h>

/* "tslab[1234 program]: <what> <p> (112 bytes, epoch 'request', draining)"; then abort. */
_Noreturn void misuse(const char *what, const void *p);

/* No object starts at p: says why, as far as that can be known, and ends the program. */
_Noreturn void misuse_no_object(const void *p);

/* The same where p lies in a chunk that it is no interior pointer of. */
_Noreturn void misuse_freed_in_chunk(const void *p);

/* p is freed with a size that is not what was asked for, or with an alignment that it does not have. */
_Noreturn void misuse_size(const void *p, size_t given, size_t asked);
_Noreturn void misuse_alignment(const void *p, size_t given);

/* From now on what no object lives in may have been released. */
void misuse_expect_released(void);

#endif
