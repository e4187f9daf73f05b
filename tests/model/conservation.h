/* The law of conservation, for a process of one thread: every slot of every slab is free in its slab, or cached by the
 * heap, or an object that lives; every unit of the arena is in a slab, or in a large object that lives, or empty and in
 * the depot. */
#ifndef CONSERVATION_H
#define CONSERVATION_H

#include "shadow.h"

/* Checks it, with the shadow's objects as those that live. */
void conservation_check(const struct shadow *shadow);

/* Checks that nothing is in use or dirty: after all objects were freed and trimmed. */
void conservation_check_empty(void);

/* Whether the arena has room for a slab of the class, in one piece, or a slab of it with a free slot. */
bool conservation_has_room(unsigned class);

/* Whether so many bytes are empty in a row. */
bool conservation_has_room_for(size_t bytes);

#endif
