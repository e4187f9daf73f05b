/* The lengths of magazines and the sizes of refills, computed for each class from bounds in bytes and in slots. */
#include "thread/magazine.h"

#include "common/size_class.h"

void *magazine_none[1];

/* The bounds, by bytes and by slots. A magazine starts with TRAY_FIRST slots and doubles each time it overflows, a
 * refill starts with one or as many and doubles each time, or grows by a quarter beside many threads. Both start anew
 * when the class was idle between two ticks (docs/decisions/magazines.md). */
enum {
    LIMIT_BYTES_SMALL = 32 * 1024, /* slots up to 512 bytes: as many as fit */
    LIMIT_SLOTS = 64,              /* larger ones: so many, up to LIMIT_BYTES */
    LIMIT_BYTES = 260 * 1024,
    LIMIT_SLOTS_MIN = 4,
    LEAST_BYTES = 8 * 1024, /* without budget, up to LEAST_SLOTS */
    LEAST_SLOTS = 32,
    BATCH_BYTES = 64 * 1024,
    BATCH_SLOTS_MIN = 4,
    FIRST_BYTES = 8 * 1024, /* above this size, the first refill takes one slot */
};

static size_t between(size_t least, size_t n, size_t most)
{
    return min_size(max_size(least, n), most);
}

uint16_t magazine_limit_most(unsigned class)
{
    const size_t size = class_geometry[class].size;
    const size_t small = min_size(LIMIT_BYTES_SMALL / size, TRAY_MOST);
    return (uint16_t)max_size(small, between(LIMIT_SLOTS_MIN, LIMIT_BYTES / size, min_size(LIMIT_SLOTS, TRAY_MOST)));
}

uint16_t magazine_limit_least(unsigned class)
{
    return (uint16_t)between(LIMIT_SLOTS_MIN, LEAST_BYTES / class_geometry[class].size, LEAST_SLOTS);
}

uint16_t magazine_batch_first(unsigned class)
{
    const size_t size = class_geometry[class].size;
    return (uint16_t)(size > FIRST_BYTES ? 1 : min_size(TRAY_FIRST, magazine_limit_most(class)));
}

uint16_t magazine_batch_most(unsigned class)
{
    const size_t size = class_geometry[class].size;
    return (uint16_t)between(BATCH_SLOTS_MIN, BATCH_BYTES / size, min_size(WORD_SLOTS, magazine_limit_most(class)));
}
