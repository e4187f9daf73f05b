/* Objects of size 0 in the checked library: what the program gets is an address without access, one for each object, so
 * that any read or write there faults. The object itself is an ordinary one, which belongs where it was allocated.
 *
 * Owns: addresses that nothing is ever mapped at, and a table that says which object each stands for. While all are
 * taken, or if there was no memory for them at the start, the program gets the object's own address.
 *
 * Invariant: a place of the table that is not NULL has a living object, unless an epoch has ended it.
 *
 * Threads: any. An object belongs to one. No locks, so a fork may come at any time. */
#ifndef TSLAB_COMMON_ZERO_SIZE_H
#define TSLAB_COMMON_ZERO_SIZE_H

#include "base/build.h"

/* Reserves the addresses. Before there are threads. */
void zero_size_start(void);

/* The address to give out for an object of size 0, which may be NULL. */
void *zero_size_hide(void *object);

/* The object that a pointer of the program's stands for: the pointer itself, unless it is such an address. Ends the
 * program when it is one without an object. */
void *zero_size_object(const void *p);

/* The same, and the address is free again. */
void *zero_size_end(void *p);

#endif
