/* The end of the program for a misuse by pointer, for any part of the engine that finds one.
 *
 * What is known of the place (its size, the epoch that it belongs to, what became of that) is known further up:
 * diagnosis.h says it. Takes no lock, allocates nothing. Threads: any. */
#ifndef TSLAB_CORE_MISUSE_H
#define TSLAB_CORE_MISUSE_H

#include "base/bits.h"

/* "tslab[1234 program]: <what> <p> (112 bytes, epoch 'request', draining)"; then abort. */
_Noreturn void misuse(const char *what, const void *p);

/* No object starts at p, which was to be freed or asked about: says why, as far as that can be known, and ends the
 * program. */
_Noreturn void misuse_no_object(const void *p);

/* p is freed with a size that is not what was asked for, or with an alignment that it does not have. */
_Noreturn void misuse_size(const void *p, size_t given, size_t asked);
_Noreturn void misuse_alignment(const void *p, size_t given);

/* From now on what no object lives in may have been released. */
void misuse_expect_released(void);
bool misuse_may_be_released(void);

/* Who says what the place is, and does not return (diagnosis.h): set when the engine starts. `what` is NULL where no
 * object starts. */
extern void (*misuse_report)(const char *what, const void *p);

#endif
