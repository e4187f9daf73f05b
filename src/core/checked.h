/* Checked builds know which objects live: a bit for each granule of the arena says that an object starts there. So a
 * double, interior or wild free is found at the call itself, wherever the object is. In other builds these functions do
 * nothing.
 *
 * Threads: any. */
#ifndef TSLAB_CORE_CHECKED_H
#define TSLAB_CORE_CHECKED_H

#include "base/build.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An object is handed out at p, which may be NULL. Returns p. Ends the program when an object starts there already. */
void *checked_born(void *p);

/* The object at p is freed or moved. Ends the program when none starts at p. */
void checked_dies(void *p);

/* All objects in a part of the arena are dead, whether or not they were freed. */
void checked_forget(const void *start, size_t bytes);

/* A bit for each of the 64 granules from start on: an object starts there. start is a multiple of 64 granules from the
 * arena's base, in a unit that has a tag. */
uint64_t checked_live_from(const void *start);

/* Whether an object starts at p, in a unit that has a tag. */
bool checked_is_live(const void *p);

/* For a walk that runs alone (verify.h): the slot at p is cached, and counts as live until it is unmarked. False: it
 * does already. */
bool checked_mark(void *p);
void checked_unmark(void *p);

/* Ends the program when no object starts at p. */
void checked_lives(const void *p);

#endif
