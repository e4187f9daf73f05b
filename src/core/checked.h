/* Checked builds know of every object whether it lives: a bit for every granule of the arena says that an object starts
 * there. So a double, interior or wild free is seen at the call itself, wherever the object is. In other builds these
 * functions are never called. */
#ifndef TSLAB_CORE_CHECKED_H
#define TSLAB_CORE_CHECKED_H

#include <stddef.h>
#include <stdint.h>

/* An object was handed out at p (or NULL). Returns p. */
void *checked_born(void *p);

/* An object is freed, or moved: ends the program when none starts at p. */
void checked_dies(void *p);

/* All objects in a part of the arena are dead, without having been freed. */
void checked_forget(const void *start, size_t bytes);

/* Which of the 64 granules from start on, which is aligned to as many, objects start at: in a unit that has a tag. */
uint64_t checked_live_from(const void *start);

/* Ends the program when no object starts at p. */
void checked_lives(const void *p);

#endif
