/* With FUZZ_SCRIBBLE in the environment, what an operation has freed is overwritten before the next one: with addresses
 * of objects, free slots and records, with zeros, with ones. No address that is handed out may follow from it, no
 * object that lives may change, and calloc returns zeros as ever.
 *
 * A write to a page that went back to the system is the program's own fault, so nothing is written to units that the
 * arena's tables call clean. */
#include "model.h"

#include "malloc/current_thread.h"
#include "space/arena.h"
#include "thread/tray.h"

#include <stdlib.h>
#include <string.h>

enum { FREED = 8192 };

static struct {
    char *start;
    size_t bytes;
} freed[FREED];
static size_t freed_count, scribbled_count;
static uint64_t state = 1;

static size_t below(size_t limit)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state * 0x2545f4914f6cdd1du >> 8) % limit;
}

void scribble_note(char *start, size_t bytes)
{
    freed[freed_count % FREED].start = start;
    freed[freed_count++ % FREED].bytes = bytes;
}

static uint64_t some_address(void)
{
    const size_t units = load_plain(&arena.committed_units);
    switch (below(5)) {
    case 0:
        return objects.count == 0 ? 0 : (uintptr_t)objects.all[below(objects.count)].start;
    case 1:
        return (uintptr_t)freed[below(freed_count < FREED ? freed_count : FREED)].start;
    case 2:
        return (uintptr_t)front_current + below(4096);
    case 3:
        return (uintptr_t)magazine_places(&front_current->magazine[below(CLASS_LIMIT)]);
    default:
        return arena.base + below(units * UNIT_BYTES) / GRANULE_BYTES * GRANULE_BYTES;
    }
}

/* Where that ends which is known to have old contents at p: a unit of a slab or a chunk, or a dirty run. NULL: it may
 * be clean. */
static const char *old_contents_end(const char *p)
{
    const size_t unit = arena_unit(p);
    const uint32_t tag = arena_has_unit(unit) ? load_plain(&arena.units[unit].tag) : TAG_LARGE;
    if (tag == TAG_CHUNK || tag_class(tag) != CLASS_NONE) {
        return arena_address((uint32_t)unit + 1);
    }
    size_t first = 1, next = 1; /* the units inside of an empty run do not name it */
    while (tag == TAG_NONE && next <= unit) {
        first = next;
        if (arena.units[first].first != first) { /* a gap, which may have no descriptors: nothing is known beyond */
            return NULL;
        }
        next += arena.runs[first].units;
    }
    return tag == TAG_NONE && arena.runs[first].kind == RUN_DIRTY ? arena_address((uint32_t)next) : NULL;
}

static void scribble(char *start, size_t bytes)
{
    const size_t how = below(5);
    const char *known = start;
    for (size_t at = 0; at + GRANULE_BYTES <= bytes && !object_lives_at(start + at); at += GRANULE_BYTES) {
        known = start + at < known ? known : old_contents_end(start + at);
        if (known == NULL) {
            return;
        }
        const uint64_t plain = how == 0 ? 0 : UINT64_MAX;
        const uint64_t words[2] = { how < 2 ? plain : some_address(), how < 2 ? plain : some_address() };
        __builtin_memcpy(start + at, words, sizeof words);
    }
}

void scribble_all(void)
{
    static int wanted = -1;
    wanted = wanted < 0 ? getenv("FUZZ_SCRIBBLE") != NULL : wanted;
    for (; wanted != 0 && scribbled_count < freed_count; scribbled_count++) {
        scribble(freed[scribbled_count % FREED].start, freed[scribbled_count % FREED].bytes);
    }
}
