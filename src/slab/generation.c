/* Carries the highest generation from one slab with handles to the next, through the records of their units. */
#include "slab/generation.h"

/* Handles have 8 bits for the slot. */
#define FEW_SLOTS(a, size, units)                                                                                      \
    _Static_assert((size) % PLACE_ALIGN != 0 || (units)*UNIT_BYTES / (size) <= 256, "handles have 8 bits for the "     \
                                                                                    "slot");
CLASS_TABLE(FEW_SLOTS, 0)

_Static_assert(PLACE_ALIGN / GRANULE_BYTES == sizeof(uint32_t), "a place has four codes");

static uint32_t highest_of_units(uint32_t first, uint32_t units)
{
    uint32_t highest = 0;
    for (uint32_t i = 0; i < units; i++) {
        const uint32_t generation = arena.revisits[first + i].generation;
        highest = generation > highest ? generation : highest;
    }
    return highest;
}

/* Gives all units of a run the same generation: an old handle of a longer slab may name a place in any of them. */
static void set_units(uint32_t first, uint32_t units, uint32_t generation)
{
    for (uint32_t i = 0; i < units; i++) {
        invariant(arena.revisits[first + i].generation <= generation);
        arena.revisits[first + i].generation = generation;
    }
}

bool generation_begin(uint32_t first, uint32_t units)
{
    invariant(arena.runs[first].kind == RUN_USED && arena.runs[first].units == units);
    const uint32_t highest = highest_of_units(first, units);
    invariant(highest <= GENERATION_MOST);
    if (highest == GENERATION_MOST) {
        return false;
    }
    set_units(first, units, highest);
    return true;
}

void generation_end(uint32_t first, unsigned class)
{
    const struct class_geometry *geometry = &class_geometry[class];
    const char *const start = arena_address(first);
    invariant(tag_has_handles(unit_tag(first)) && arena.runs[first].units == geometry->units);
    uint32_t highest = highest_of_units(first, geometry->units);
    for (unsigned slot = 0; slot < geometry->slots; slot++) {
        const uint32_t word = load_plain(place_word(start + (size_t)slot * geometry->size));
        if (word != 0 && place_generation(word) > highest) {
            highest = place_generation(word);
        }
    }
    invariant(highest <= GENERATION_MOST);
    set_units(first, geometry->units, highest);
    size_code_clear_run(first, geometry->units);
}
