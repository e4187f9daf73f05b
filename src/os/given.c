/* Not by sysconf: the dynamic loader may call before libc is ready. Threads that come at once store the same. */
#include "os/given.h"

#include "base/atomic.h"
#include "base/bits.h"

#include <sys/auxv.h>

static struct {
    atomic_u32 are_known;
    atomic_size_t all[OS_GIVEN_COUNT];
} os_facts;

noinline void os_learn(void)
{
    static const unsigned long kinds[OS_GIVEN_COUNT] = { AT_PAGESZ, AT_RANDOM, AT_SECURE, AT_EXECFN, AT_SYSINFO_EHDR };
    if (load_acquire(&os_facts.are_known) == 0) {
        for (unsigned i = 0; i < OS_GIVEN_COUNT; i++) {
            store_plain(&os_facts.all[i], getauxval(kinds[i]));
        }
        store_release(&os_facts.are_known, 1);
    }
}

size_t os_given(enum os_given what)
{
    os_learn();
    return load_plain(&os_facts.all[what]);
}
