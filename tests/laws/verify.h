/* Conservation laws that can be run: a walk for each noun, which ends the program where its law does not hold.
 *
 * Each law stands above its walk, with what the walk requires of its caller. Where the tests are built with a checked
 * engine, its libraries have the walks inside. They run at the moments that os/fatal.h lists: at the ends of slow
 * operations, and where the program forks, trims, closes epochs and ends. Tests walk where they know the engine at
 * rest, and compare with what they know themselves. For an engine without checks they compile this with TSLAB_VERIFY.
 *
 * Walks write nothing, but for marks of their own, and what letting go of a list's lock asks for.
 *
 * Threads: as each says. A walk takes the locks that it needs. */
#ifndef TSLAB_VERIFY_H
#define TSLAB_VERIFY_H

#include "thread/thread.h"

/* A slab in use. Its units are as many as its class asks for, name its first unit, and have one tag, which says the
 * class. No word of the bitmap has a bit that is no slot's. Requires that nobody recycles the slab: its holder, or the
 * holder of its list's lock. At rest, when nobody gives to the slab or takes from it, `full` is the number of words
 * that are whole, too. */
void verify_slab(const struct run *slab);
void verify_slab_at_rest(const struct run *slab);

/* The lists of partial slabs of an epoch. Each is linked both ways, as long as it says, and has only slabs of its class
 * and epoch that are PARTIAL and have a free slot. Takes the locks of the lists, one after the other. In a gate. */
void verify_partials(const struct epoch *epoch);

/* A heap. Each magazine has no more slots than its limit and than its tray is long, each kept tray has as many as the
 * heap says, and all limits together are what the heap counts in the budget of all caches. Each slot of these, and each
 * claimed one, is where a slot of the class starts, is in no bitmap, and no object lives there. The claimed ones are of
 * the attached slab, which is ATTACHED, and of the heap's epoch. In the gate of the holder, by the holder; or at rest.
 */
void verify_heap(const struct heap *heap);

/* The depot. The runs of the arena, and gaps, whose `first` is 0, lie side by side from unit 1 to the end. The last
 * unit of each knows its first. Two empty neighbours are of different kinds. Empty runs have no tags and are no slabs.
 * Clean ones are whole pages. The units of each kind are as many as the depot counts. Each empty run is in
 * the bin of its kind and length, with all shorter ones in bins before; each dirty one in the list by age, oldest
 * first, and each long clean one that may have pages in the side tables in the list of those; all are linked both ways.
 * Takes the depot's lock. After addresses were lost to somebody else, what lies in them tells nothing: then the lists
 * alone are looked at. */
void verify_depot(void);

/* The chunk of a cursor, if it has one. No code stands at or beyond where the cursor is, or inside of an object. The
 * codes add up to the granules that the cursor has passed, less those that the holder and others freed. Others clear a
 * code before they count, so what is counted may be more, but for a chunk at rest. By the holder. */
void verify_cursor(const struct cursor *cursor);

/* An epoch. Its runs are linked both ways, used, of this epoch, and each pins it. Its holds are its own, and the last
 * of them is `first`. It counts the units of its runs. Takes the lock of the epoch. At rest, when nobody enters, leaves
 * or closes it, its word counts the holds that are not TAKEN, and one more while it is OPEN; its closed chunks count
 * the granules of their codes. */
void verify_epoch(struct epoch *epoch);
void verify_epoch_at_rest(struct epoch *epoch);

/* The laws that hold while many threads run, but for slow operations: the depot, and the runs and lists of all epochs.
 * In a gate. */
void verify_shared(void);

/* The accounts (accounts.h). They add up to what is committed; each run in use is in one of them, and each cached slot
 * is one that a slab has lent. Nobody else runs, and no fork has cut off a thread that had a run in hand. */
void verify_accounts(void);

/* The whole. Each slot of each slab is in one place: in the bitmap, cached by one heap, or an object that lives. So is
 * each code of a chunk that of an object that lives, and the other way round. The quota of each label counts what its
 * epochs have. Nobody else runs. Returns how many slots
 * and codes are in no place: no more than the threads had in hand that forks have cut off. Only checked builds know
 * what lives: elsewhere all that is neither in the bitmap nor cached is taken to live, and nothing is said of codes. */
size_t verify_whole(void);

/* The code of the object that starts at p, which lies in a chunk: chunk_code by plain loads, so that asking is no step
 * of the simulation. */
static inline unsigned code_at(const void *p)
{
    const struct run *const chunk = &arena.runs[arena.units[arena_unit(p)].first];
    const bool have_moved = load_plain(&chunk->chunk.has_kept) != 0;
    const unsigned code = have_moved ? 0 : load_plain(size_code_at(p));
    const size_t granule = (size_t)((const char *)p - arena_address(run_index(chunk))) >> GRANULE_SHIFT;
    if (code != CODE_KEPT && !have_moved) {
        return code;
    }
    for (unsigned i = 0; i < KEPT_CODES; i++) {
        const uint32_t kept = load_plain(&chunk->chunk.kept[i]);
        if (kept != 0 && kept >> KEPT_SHIFT == granule) {
            return kept & CODE_MASK;
        }
    }
    return 0;
}

#endif
