/* The capacities of magazines and the sizes of refills, computed for each class from bounds in bytes and in slots. */
#include "core/magazine.h"

#include "core/class.h"

/* The bounds, by bytes and by slots. A magazine starts small, doubles each time it overflows, and becomes small again
 * when its class was idle between two ticks. */
enum {
    CAPACITY_BYTES_FIRST = 1024,
    CAPACITY_BYTES = 32 * 1024,
    CAPACITY_SLOTS_FIRST = 16,
    CAPACITY_SLOTS = 512,
    CAPACITY_SLOTS_MIN = 2,
    BATCH_BYTES_FIRST = 256,
    BATCH_BYTES = 8 * 1024,
    BATCH_SLOTS_FIRST = 4,
    BATCH_SLOTS = 64,
};

static uint16_t between_bounds(size_t bytes, size_t size, size_t most, size_t least)
{
    invariant(size != 0 && least <= most && most <= MAGAZINE_ROOM_MASK);
    return (uint16_t)max_size(least, min_size(most, bytes / size));
}

uint16_t magazine_capacity_first(unsigned class)
{
    return between_bounds(CAPACITY_BYTES_FIRST, class_geometry[class].size, CAPACITY_SLOTS_FIRST, CAPACITY_SLOTS_MIN);
}

uint16_t magazine_capacity_most(unsigned class)
{
    return between_bounds(CAPACITY_BYTES, class_geometry[class].size, CAPACITY_SLOTS, CAPACITY_SLOTS_MIN);
}

uint16_t magazine_batch_first(unsigned class)
{
    return between_bounds(BATCH_BYTES_FIRST, class_geometry[class].size, BATCH_SLOTS_FIRST, 1);
}

uint16_t magazine_batch_most(unsigned class)
{
    return between_bounds(BATCH_BYTES, class_geometry[class].size, BATCH_SLOTS, 1);
}
