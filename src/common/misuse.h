/* The end of the program for a misuse by pointer, for any part of the engine that finds one.
 *
 * The details of the place (its size, its epoch, and that epoch's state) are known to higher layers: diagnosis.h
 * reports them. Nothing here takes a lock or allocates. Threads: any. */
#ifndef TSLAB_COMMON_MISUSE_H
#define TSLAB_COMMON_MISUSE_H

#include "base/bits.h"

#include <stddef.h>

/* "tslab[1234 program]: <what> <p> (112 bytes, epoch 'request', draining)"; then abort. */
_Noreturn void misuse(const char *what, const void *p);

/* The same of an object of which the caller knows how many bytes were asked for. */
_Noreturn void misuse_of_asked(const char *what, const void *p, size_t asked);

/* No object starts at p, which the caller wanted to free or to ask about. Says why, as far as that can be known, and
 * ends the program. */
_Noreturn void misuse_no_object(const void *p);

/* p is freed with a size that differs from the one that was asked for, or with an alignment that p does not have. */
_Noreturn void misuse_size(const void *p, size_t given, size_t asked);
_Noreturn void misuse_alignment(const void *p, size_t given);

/* Reports the misuse with the details of the place, and does not return (diagnosis.h). Set when the engine starts.
 * `what` is NULL where no object starts at p. asked is 0 where it is unknown. */
extern void (*misuse_report)(const char *what, const void *p, size_t asked);

#endif
