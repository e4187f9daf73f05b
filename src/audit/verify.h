/* Conservation laws that can be run: a walk for each noun, which ends the program where its law does not hold.
 *
 * Each law stands above its walk, with what the walk requires of its caller. Checked builds walk at the ends of slow
 * operations, and where the program forks, trims, closes epochs and ends; tests walk where they know the engine at
 * rest, and compare with what they know themselves. A build without checks has nothing of this file, but for tests that
 * compile it for themselves (TSLAB_VERIFY).
 *
 * Walks write nothing, but for verify_whole, and what letting go of a list's lock asks for.
 *
 * Threads: as each says. A walk takes the locks that it needs. */
#ifndef TSLAB_AUDIT_VERIFY_H
#define TSLAB_AUDIT_VERIFY_H

#include "thread/thread.h"

/* Whether the engine walks by itself: the simulation does so only between runs, by its oracle. */
enum { VERIFIES = TSLAB_CHECKED && !TSLAB_SIM };

/* A slab in use. Its units are as many as its class asks for, name its first unit, and have one tag, which says the
 * class; no word of the bitmap has a bit that is no slot's. Requires that nobody recycles the slab: its holder, or the
 * holder of its list's lock. At rest, when nobody gives to the slab or takes from it, `full` is the number of words
 * that are whole, too. */
void verify_slab(const struct run *slab);
void verify_slab_at_rest(const struct run *slab);

/* The lists of partial slabs of an epoch. Each is linked both ways, as long as it says, and has only slabs of its class
 * and epoch that are PARTIAL and have a free slot. Takes the locks of the lists, one after the other. In a gate. */
void verify_partials(const struct epoch *epoch);

/* A heap. Each magazine has no more slots than its limit and than its tray is long, each stock and each list of retired
 * slots has as many as it says, and all stocks together as many bytes. Each slot of these, and each claimed one, is
 * where a slot of the class starts, is in no bitmap, and no object lives there. The claimed ones are of the attached
 * slab, which is ATTACHED, and of the heap's epoch. In the gate of the holder, by the holder; or at rest. */
void verify_heap(const struct heap *heap);

/* Calls `visit` for each slot that a heap caches. Requires the same. */
typedef void verify_visit(void *slot, unsigned class, void *context);
void verify_cached(const struct heap *heap, verify_visit *visit, void *context);

/* The same for what waits in the exchange. Nobody else runs. */
void verify_exchange(verify_visit *visit, void *context);

/* The depot. The runs of the arena, and gaps, whose `first` is 0, lie side by side from unit 1 to the end; the last
 * unit of each knows its first. Two empty neighbours are of different kinds. Empty runs have no tags and are no slabs;
 * clean and absent ones are whole pages. The units of each kind are as many as the depot counts. Each empty run is in
 * the bin of its kind and length, each dirty one in the list by age, oldest first, and each long clean one that may
 * have pages in the side tables in the list of those; all are linked both ways. Takes the depot's lock. After addresses
 * were lost to somebody else, what lies in them tells nothing: then the lists alone are looked at. */
void verify_depot(void);

/* The chunk of a cursor, if it has one. No code stands at or beyond where the cursor is, or inside of an object; the
 * codes add up to the granules that the cursor has passed, less those that the holder and others freed. Others clear
 * a code before they count, so what is counted may be more, but for a chunk at rest. By the holder. */
void verify_cursor(const struct cursor *cursor);

/* An epoch. Its runs are linked both ways, used, of this epoch, and each pins it; its holds are its own, and the last
 * of them is `first`. It counts the units of its runs. Takes the lock of the epoch. At rest, when nobody enters, leaves
 * or closes it, its word counts the holds that are not TAKEN, and one more while it is OPEN; its closed chunks count
 * the granules of their codes. */
void verify_epoch(struct epoch *epoch);
void verify_epoch_at_rest(struct epoch *epoch);

/* What has to do with many threads, and may be looked at while they run, but for slow operations: the depot, and the
 * runs and lists of all epochs. In a gate. */
void verify_shared(void);

/* The accounts (accounts.h). They add up to what is committed; each run in use is in one of them, and each cached slot
 * is one that a slab has lent. Nobody else runs, and no fork has cut off a thread that had a run in hand. */
void verify_accounts(void);

/* The whole. Each slot of each slab is in one place: in the bitmap, cached by one heap, or an object that lives. So is
 * each code of a chunk that of an object that lives, and the other way round. The quota of each label counts what its
 * epochs have. Nobody else runs. Returns how many slots
 * and codes are in no place: no more than the threads had in hand that forks have cut off (verify_cut). Only in checked
 * builds, which know what lives: elsewhere all that is not cached is taken to live. */
size_t verify_whole(void);

/* When walks run by themselves: in checked builds, now and then, and at moments when nothing moves. In other builds
 * nothing calls these functions. */

/* verify_whole when this thread alone has a record, and none can get one meanwhile; unless, at the end of the program,
 * a signal has cut the thread in a slow operation. No gate. */
void verify_if_alone(struct thread *self);

/* At a fork, when the gates of all others are held, or nobody else is there: what is shared, unless a signal has cut
 * the forking thread in the middle of something. It held locks of such ranks then, or ends the program. */
void verify_at_fork(struct thread *self, uint32_t ranks, uint32_t dying);

/* A fork has cut off so many threads, each perhaps in an operation. */
void verify_cut(size_t threads);

/* The end of a slow operation: every so often the thread's own heaps and cursors, and more rarely the depot. No gate.
 */
void verify_often(struct thread *self);

#endif
