/* Handle tables: the objects of an epoch that have handles.
 *
 * An entry has the address of an object and a tag. A handle is the number of an entry, and the tag that the entry got
 * with the object. An entry that is used again gets the next tag, and one that has used 2^HANDLE_USE_BITS tags is not
 * used again. So no two handles of an epoch are equal. The first tag depends on the epoch, the entry and the process: a
 * handle of another epoch, or one that is made up, fits by a chance of 1 in 2^HANDLE_TAG_BITS.
 *
 * Owns: the entries, in blocks that never move, so that a look needs no lock. When the epoch has ended, they are
 * cleared and serve other tables. They serve nothing else: a late look finds entries there, and none that fits.
 *
 * Invariants: an entry is lent to one handle, or on a list of free entries, or in the hands of one thread.
 *
 * The card of the protocol is docs/protocols/handles.md. Threads: any. A thread that takes, lends, ends or puts back an
 * entry has a hold of the epoch, or the living object of the entry, so the epoch does not end meanwhile. */
#ifndef TSLAB_SLAB_HANDLE_TABLE_H
#define TSLAB_SLAB_HANDLE_TABLE_H

#include "base/atomic.h"

#include <stdbool.h>

enum { HANDLE_TAG_BITS = 39 };

/* Bytes of long blocks that serve no table and were given back to the system. */
extern atomic_size_t handle_tables_gone_bytes;

struct handle_table;

/* Takes a free entry of a table, which may be NULL. 0: there is none, until the table has grown. */
uint32_t handle_table_take(struct handle_table *table);

/* Makes the table in its place, or one more block of it. False: no memory, or there are as many entries as a handle can
 * name. In the gate. */
bool handle_table_grow(_Atomic(struct handle_table *) *place);

/* Lends an entry that the caller has taken to a new handle of an object. Returns the handle. Here and below, `epoch` is
 * the value of the table's epoch. */
uint64_t handle_table_lend(struct handle_table *table, uint64_t epoch, uint32_t number, void *object);

/* Puts back an entry that the caller has taken, or that is ended, for any thread. */
void handle_table_put(struct handle_table *table, uint64_t epoch, uint32_t number);

/* The same for a list of the caller's own: makes `next` the one behind it. False: the entry is not used again. */
bool handle_table_link(struct handle_table *table, uint64_t epoch, uint32_t number, uint32_t next);
uint32_t handle_table_next(struct handle_table *table, uint32_t number);

/* The object that a handle names. NULL: none. The table may be NULL, or be another epoch's by now. */
void *handle_table_look(struct handle_table *table, uint64_t handle);

/* Ends a handle. The caller then has the object, and the entry in *number. NULL: the handle names nothing. */
void *handle_table_end(struct handle_table *table, uint64_t handle, uint32_t *number);

/* Ends all handles of an epoch that no thread is inside of, and gives back the table, if there is one. In the gate. */
void handle_table_drop(_Atomic(struct handle_table *) *place);

#endif
