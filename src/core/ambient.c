#include "core/ambient.h"

noinline void ambient_set(struct thread *thread)
{
    ambient_set_here(thread);
}
