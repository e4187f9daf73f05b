/* The tag of the unit says where p lies: in a slab (the class's size), in a chunk (its code), or in a large block. */
#include "malloc/memory_at.h"

#include "common/guard.h"
#include "common/misuse.h"
#include "malloc/current_thread.h"
#include "os/fatal.h"
#include "slab/chunk.h"
#include "slab/large.h"
#include "space/live_bits.h"

static size_t large_room(const void *p)
{
    struct thread *thread = current_thread_get_surely();
    if (thread == NULL) {
        return 0;
    }
    gate_lock(&thread->gate);
    const size_t room = large_usable(p);
    gate_unlock(&thread->gate);
    current_thread_put(thread);
    return room;
}

struct object_memory object_memory_at(const void *p)
{
    const uint32_t tag = arena_tag(p);
    const unsigned class = tag_class(tag);
    if (class != CLASS_NONE) {
        (void)slot_of(p, class);
        return (struct object_memory){ class_geometry[class].size, !tag_has_handles(tag), true };
    }
    if (tag == TAG_CHUNK) {
        return (struct object_memory){ chunk_usable(p), true, true };
    }
    return (struct object_memory){ large_room(p), true, false };
}

size_t object_memory_usable(const void *p, struct object_memory *room)
{
    live_bits_check(p);
    *room = object_memory_at(p);
    if (room->bytes == 0) {
        misuse_no_object(p);
    }
    invariant(room->bytes > SEAL_BYTES);
    return GUARDED && room->sealed ? guard_sealed(p, room->bytes) : room->bytes;
}

/* uncounted: only the checked libraries call it */
void object_memory_check_seal(const void *p)
{
    if (!GUARDED) {
        return;
    }
    const struct object_memory room = object_memory_at(p);
    if (room.sealed && room.bytes != 0) {
        (void)guard_sealed(p, room.bytes);
    }
}
