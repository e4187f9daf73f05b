/* Guards: what the library that users run as `checked` has beyond the checks of every checked build (TSLAB_CHECKED is 2
 * there). No other build calls these functions.
 *
 *   free memory is zero   what is freed is cleared, and whoever gets it next finds out whether somebody has written to
 * it a seal                behind what the user asked for, up to the end of the place: a filling, and last a word that
 *                         holds the size, disguised by a secret of the process and the address
 *   guard pages           without access, around mappings of the engine's own records, and behind large objects
 *
 * Nothing here knows where objects are: object.c does, and gives the room of a place, which is all that the engine made
 * available there. Threads: any; an object is its owner's. */
#ifndef TSLAB_CORE_GUARD_H
#define TSLAB_CORE_GUARD_H

#include "base/bits.h"

enum { GUARDED = TSLAB_CHECKED > 1, SEAL_BYTES = GUARDED ? 8 : 0 };

/* What to ask of the engine for an object of size bytes. */
always_inline size_t guard_room(size_t size)
{
    return size > PTRDIFF_MAX - SEAL_BYTES ? size : size + SEAL_BYTES;
}

/* Chooses the secret. Before there are threads. */
void guard_start(void);

/* Puts the seal behind the first size bytes. */
void guard_seal(void *p, size_t room, size_t size);

/* The size that the seal at p says. Ends the program when the seal is broken. */
size_t guard_sealed(const void *p, size_t room);

/* Ends the program when free memory is not zero. */
void guard_check_free(const void *p, size_t room);

/* Makes memory of the arena zero that is to be free: whole pages lose what they hold. */
void guard_wipe(void *start, size_t bytes);

/* A mapping between two guard pages, reading as zero, of at least bytes and aligned to a power of two; NULL: no memory.
 * *mapping and *mapping_bytes receive what is to be unmapped. */
void *guard_map(size_t bytes, size_t alignment, void **mapping, size_t *mapping_bytes);

#endif
