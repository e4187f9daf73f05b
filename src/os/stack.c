/* Frames without tables end the stack. */
#include "os/stack.h"

#include "base/bits.h"
#include "os/fatal.h"

#include <unwind.h>

struct reading {
    uintptr_t *frames;
    size_t depth;
};

static _Unwind_Reason_Code read_frame(struct _Unwind_Context *context, void *argument)
{
    struct reading *const reading = argument;
    const uintptr_t address = _Unwind_GetIP(context);
    if (address == 0 || reading->depth == STACK_FRAMES) {
        return _URC_END_OF_STACK;
    }
    reading->frames[reading->depth++] = address;
    return _URC_NO_REASON;
}

noinline size_t stack_read(uintptr_t frames[STACK_FRAMES])
{
    struct reading reading = { .frames = frames };
    (void)_Unwind_Backtrace(read_frame, &reading);
    invariant(reading.depth <= STACK_FRAMES);
    return reading.depth;
}
