#include "fast.h"

#include <stdatomic.h>

void sim_point(void);

/* The functions of magazine.h and chunk.h, once more, with their stores cut apart. */
#undef atomic_store_explicit
#define atomic_store_explicit(p, v, order) (sim_point(), (void)(*(p) = (v)), sim_point())

#include "base/atomic.h"

#undef owned_store
#define owned_store(p, v) (sim_point(), __atomic_store_n((p), (v), __ATOMIC_RELEASE), sim_point())

#undef owned_load
#define owned_load(p)                                                                                                  \
    ({                                                                                                                 \
        sim_point();                                                                                                   \
        const __auto_type found = __atomic_load_n((p), __ATOMIC_RELAXED);                                              \
        sim_point();                                                                                                   \
        found;                                                                                                         \
    })

#include "malloc/current_thread.h"
#include "slab/chunk.h"
#include "space/arena.h"

void *sim_fast_alloc(unsigned class)
{
    struct magazine *m = &front_current->magazine[class];
    return magazine_pop(m);
}

bool sim_fast_free(void *p)
{
    const uint32_t tag = atomic_load_explicit(&arena.units[arena_unit(p)].tag, memory_order_relaxed);
    struct magazine *m = &front_current->magazine[tag_class(tag)];
    if (tag != m->tag || magazine_is_full(m) || magazine_has_last(m, p)) {
        return false;
    }
    magazine_push(m, p);
    return true;
}

void *sim_chunk_alloc(struct cursor *cursor, size_t size)
{
    return chunk_alloc(cursor, size);
}

bool sim_chunk_free(struct hold *hold, void *p)
{
    if (!chunk_is_own(&hold->cursor, p)) {
        return chunk_free_full(hold, p) == 0;
    }
    if (!chunk_free_small(&hold->cursor, p)) {
        chunk_free_own(&hold->cursor, p);
    }
    return false;
}
