/* Guards: the protections that the library which users run as `checked` has beyond the checks of every checked build.
 * TSLAB_CHECKED is 2 there. No other build calls these functions.
 *
 *   zero when free   Freed memory is cleared. The next allocation of it finds out whether it was written to meanwhile.
 *   seals            The bytes between what the user asked for and the end of the place have a filling. Their last
 *                    word is the seal: the size, disguised by a secret of the process and by the address.
 *   guard pages      Pages without access stand around the mappings of the engine's own records, and behind large
 *                    objects.
 *
 * Owns: addresses that nothing is ever mapped at, for objects of size 0, and a table that says which object each stands
 * for. A place of the table that is not NULL has a living object, unless an epoch has ended it. No locks, so a fork may
 * come at any time.
 *
 * Nothing here knows where objects are. object.c does, and passes the room of a place: all the bytes that the engine
 * made available there. Threads: any. An object belongs to one. */
#ifndef TSLAB_COMMON_GUARD_H
#define TSLAB_COMMON_GUARD_H

#include "base/bits.h"

enum { GUARDED = TSLAB_CHECKED > 1, SEAL_BYTES = GUARDED ? 8 : 0 };

/* The bytes to ask of the engine for an object of size bytes. */
always_inline size_t guard_room(size_t size)
{
    return size > PTRDIFF_MAX - SEAL_BYTES ? size : size + SEAL_BYTES;
}

/* Chooses the secret, and reserves the addresses for objects of size 0. Before there are threads. */
void guard_start(void);

/* Puts filling and seal behind the first size bytes. */
void guard_seal(void *p, size_t room, size_t size);

/* The size that the seal of p holds. Ends the program when the seal or the filling is broken. */
size_t guard_sealed(const void *p, size_t room);

/* Clears what is behind the first `kept` bytes of a place. */
void guard_clear(void *p, size_t kept, size_t room);

/* Clears the place of an object that is dead. AddressSanitizer and valgrind find a touch before it is handed out
 * again. */
void guard_bury(void *p, size_t room);

/* Ends the program when free memory is not zero. */
void guard_check_free(const void *p, size_t room);

/* Clears memory of the arena that is about to be free. Whole pages go back to the system instead. */
void guard_wipe(void *start, size_t bytes);

/* Memory between two guard pages that reads as zero, of at least `bytes` and aligned to a power of two. NULL: no
 * memory. *mapping and *mapping_bytes receive the whole mapping, for unmapping it. */
void *guard_map(size_t bytes, size_t alignment, void **mapping, size_t *mapping_bytes);

/* Objects of size 0: what the program gets is an address without access, one for each object, so that any read or write
 * there faults. The object itself is an ordinary one, which belongs where it was allocated. While all addresses are
 * taken, or if there was no memory for them at the start, the program gets the object's own address. */

/* The address to give out for an object of size 0, which may be NULL. */
void *zero_size_hide(void *object);

/* The object that a pointer of the program's stands for: the pointer itself, unless it is such an address. Ends the
 * program when it is one without an object. */
void *zero_size_object(const void *p);

/* The same, and the address is free again. */
void *zero_size_end(void *p);

#endif
