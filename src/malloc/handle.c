/* The thread keeps a hold of the epoch until the object is entered, and the object keeps the epoch until its entry is
 * put back. So the table is there. */
#include "malloc/handle.h"

#include "epoch/epoch_alloc.h"
#include "epoch/scope.h"
#include "malloc/fast.h"
#include "os/fatal.h"
#include "slab/handle_table.h"

/* As many free entries as the first block of a table has wait with the hold of a thread, which takes and leaves them
 * without an atomic operation. */
enum { OWN_ENTRIES = TSLAB_SIM ? 1 : 16 };

/* Takes an entry of the table, which may have to grow. 0: no memory. */
static uint32_t take_entry(struct thread *thread, struct hold *hold)
{
    struct epoch *const epoch = hold->epoch;
    uint32_t number = hold->free_entry;
    if (number != 0) {
        invariant(hold->free_entries != 0);
        hold->free_entry = handle_table_next(load_acquire(&epoch->handles), number);
        hold->free_entries--;
        return number;
    }
    bool has_grown = true;
    while ((number = handle_table_take(load_acquire(&epoch->handles))) == 0 && has_grown) {
        gate_lock(&thread->gate);
        has_grown = handle_table_grow(&epoch->handles);
        gate_unlock(&thread->gate);
    }
    return number;
}

static void put_entry(struct handle_table *table, uint64_t epoch, uint32_t number)
{
    const struct thread *const thread = front_current->thread;
    struct hold *const hold = thread == NULL ? NULL : scope_inside(thread, epoch);
    if (hold == NULL || hold->free_entries == OWN_ENTRIES) {
        handle_table_put(table, epoch, number);
    } else if (handle_table_link(table, epoch, number, hold->free_entry)) {
        invariant(load_plain(&hold->holder) == thread);
        hold->free_entry = number;
        hold->free_entries++;
    }
}

/* Allocates from a hold that the thread has. 0: no memory, or the epoch is closed. */
static uint64_t alloc_from(struct thread *thread, struct hold *hold, size_t size, void **object)
{
    const uint32_t number = take_entry(thread, hold);
    if (number == 0) {
        return 0;
    }
    bool zero;
    struct handle_table *const table = load_acquire(&hold->epoch->handles);
    *object = object_begin(epoch_alloc(thread, hold, guard_room(size), 1, &zero), size);
    if (*object == NULL) {
        handle_table_put(table, hold->value, number);
        return 0;
    }
    return handle_table_lend(table, hold->value, number, *object);
}

uint64_t handle_alloc(struct thread *thread, uint64_t epoch, size_t size, void **object, int *status)
{
    struct hold *const inside = scope_inside(thread, epoch);
    struct hold *const hold = inside != NULL ? inside : scope_borrow(thread, epoch, status);
    if (hold == NULL) {
        return 0;
    }
    invariant(hold->value == epoch && load_plain(&hold->holder) == thread);
    const uint64_t handle = epoch_is_open_as(hold->epoch, epoch) ? alloc_from(thread, hold, size, object) : 0;
    *status = handle != 0 || epoch_is_open_as(hold->epoch, epoch) ? TSLAB_NO_MEMORY : TSLAB_CLOSED;
    if (inside == NULL) {
        scope_return(thread, hold);
    }
    return handle;
}

/* The table of the epoch with this value. NULL: there is no such epoch, or it has no handles. */
static struct handle_table *handles_of(uint64_t epoch)
{
    const struct epoch *const record = epoch_by_value(epoch);
    return record == NULL ? NULL : load_acquire(&record->handles);
}

void *handle_get(uint64_t epoch, uint64_t handle)
{
    return handle_table_look(handles_of(epoch), handle);
}

bool handle_free(uint64_t epoch, uint64_t handle)
{
    uint32_t number;
    struct handle_table *const table = handles_of(epoch);
    void *const object = handle_table_end(table, handle, &number);
    if (object == NULL) {
        return false;
    }
    put_entry(table, epoch, number);
    fast_free(object);
    return true;
}
