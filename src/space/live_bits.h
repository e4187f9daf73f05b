/* Checked builds know which objects live: a bit for each granule of the arena says that an object starts there. So a
 * double, interior or wild free is found at the call itself, wherever the object is. Other builds do nothing.
 *
 * Threads: any. */
#ifndef TSLAB_SPACE_LIVE_BITS_H
#define TSLAB_SPACE_LIVE_BITS_H

#include "base/build.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if TSLAB_CHECKED

/* An object is handed out at p, which may be NULL. Returns p. Ends the program when an object starts there already. */
void *live_bits_born(void *p);

/* The object at p is freed or moved. Ends the program when none starts at p. */
void live_bits_dies(void *p);

/* All objects in a part of the arena are dead, whether or not they were freed. */
void live_bits_forget(const void *start, size_t bytes);

/* A bit for each of the 64 granules from start on: an object starts there. start is a multiple of 64 granules from the
 * arena's base, in a unit that has a tag. */
uint64_t live_bits_from(const void *start);

/* Whether an object starts at p, in a unit that has a tag. */
bool live_bits_have(const void *p);

/* Ends the program when no object starts at p. */
void live_bits_check(const void *p);

#else
#define live_bits_born(p)              (p)
#define live_bits_dies(p)              ((void)(p))
#define live_bits_forget(start, bytes) ((void)(start), (void)(bytes))
#define live_bits_from(start)          ((void)(start), (uint64_t)0)
#define live_bits_have(p)              ((void)(p), false)
#define live_bits_check(p)             ((void)(p))
#endif

#endif
