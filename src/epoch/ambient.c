/* The out-of-line copy of ambient_set_here. */
#include "epoch/ambient.h"

noinline void ambient_set(struct thread *thread)
{
    ambient_set_here(thread);
}
