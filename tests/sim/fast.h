/* The fast path with a switch at each of its writes: in the library it has none, for nobody but a fork can come
 * between. These are the lines of malloc/fast.h, on the functions of thread/magazine.h. */
#ifndef TSLAB_TESTS_SIM_FAST_H
#define TSLAB_TESTS_SIM_FAST_H

#include <stdbool.h>
#include <stddef.h>

struct cursor;
struct hold;

/* NULL when the magazine is empty. */
void *sim_fast_alloc(unsigned class);

/* False when the magazine does not take it. */
bool sim_fast_free(void *p);

/* The next object of the cursor's chunk; NULL when it does not fit. And a free in a chunk of the hold. True: that was a
 * full one, and is empty now. */
void *sim_chunk_alloc(struct cursor *cursor, size_t size);
bool sim_chunk_free(struct hold *hold, void *p);

#endif
