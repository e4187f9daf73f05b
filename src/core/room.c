/* The tag of the unit says where p lies: in a slab (the class's size), in a chunk (its code), or in a large block. */
#include "core/room.h"

#include "core/checked.h"
#include "core/chunk.h"
#include "core/current.h"
#include "core/guard.h"
#include "core/large.h"
#include "core/misuse.h"
#include "os/fatal.h"

static size_t large_room(const void *p)
{
    struct thread *thread = current_get_surely();
    if (thread == NULL) {
        return 0;
    }
    gate_lock(&thread->gate);
    const size_t room = large_usable(p);
    gate_unlock(&thread->gate);
    current_put(thread);
    return room;
}

struct room room_at(const void *p)
{
    const uint32_t tag = arena_tag(p);
    const unsigned class = tag_class(tag);
    if (class != CLASS_NONE) {
        (void)slot_of(p, class);
        return (struct room){ class_geometry[class].size, !tag_has_handles(tag), true };
    }
    if (tag == TAG_CHUNK) {
        return (struct room){ chunk_usable(p), true, true };
    }
    return (struct room){ large_room(p), true, false };
}

size_t room_usable(const void *p, struct room *room)
{
    checked_lives(p);
    *room = room_at(p);
    if (room->bytes == 0) {
        misuse_no_object(p);
    }
    invariant(room->bytes > SEAL_BYTES);
    return GUARDED && room->sealed ? guard_sealed(p, room->bytes) : room->bytes;
}

/* uncounted: only the checked libraries call it */
void room_check_seal(const void *p)
{
    if (!GUARDED) {
        return;
    }
    const struct room room = room_at(p);
    if (room.sealed && room.bytes != 0) {
        (void)guard_sealed(p, room.bytes);
    }
}
