/* Growth: the arena gets longer when no empty run of the depot serves.
 *
 * One thread at a time grows, under the lock of growth. It lets go of the depot's lock while the system maps. So nobody
 * waits for a mapping but those who need one: a free, and a malloc that an empty run serves, go on beside it.
 *
 * Owns: growth of the arena.
 *
 * Threads: any, inside a gate. growth_step and growth_behind are called with both locks, and let go of the depot's for
 * a while. */
#ifndef TSLAB_SPACE_GROWTH_H
#define TSLAB_SPACE_GROWTH_H

#include "space/free_runs.h"

/* A request for memory, and the steps tried. */
struct growth {
    uint32_t n, align;
    bool tail_failed; /* the clean run at the arena's end was gone when the arena had grown by what was missing */
};

/* Takes both locks, and releases them. */
void growth_lock(void);
void growth_unlock(void);

/* Maps memory for n aligned units. *run: the clean run that has them; 0: other threads took a part of it, so it takes
 * another step. A search need not find the run (run_find). False: there is no memory. */
bool growth_step(struct growth *growth, uint32_t *run);

/* Whether memory could be mapped behind a used run that ends before the unit `behind`, so that it can grow by so many
 * units. Under the depot's lock. */
bool growth_could_serve(uint32_t behind, uint32_t more);

/* Maps it. */
void growth_behind(uint32_t behind, uint32_t more);

#endif
