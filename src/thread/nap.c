/* The keeper's look asks between its steps whether the nap is over. */
#include "thread/nap.h"

#include "common/option.h"
#include "os/fatal.h"
#include "os/os.h"
#include "space/depot.h"
#include "thread/exchange.h"
#include "thread/keeper.h"
#include "thread/thread.h"

enum {
    SMALL_UNITS = (4 << 20) / UNIT_BYTES, /* so small a process takes no naps */
    ASK_STEPS = 4,                        /* between two questions whether the call would sleep */
};

atomic_u32 nap_is_allowed, nap_left = 1;

/* Written with signals held. */
static struct {
    const struct sleeper *sleeper;
    uint64_t signals;
    unsigned steps;
    enum signals_came came;
    bool is_ready, swept;
    atomic_u64 looked_ms, process;
} naps;

uint64_t nap_wait_ms(void)
{
    const struct thread *const self = front_current->thread;
    const size_t units = counter_get(&depot.units[RUN_DIRTY]) + counter_get(&depot.units[RUN_USED]);
    invariant(self == NULL || self->heap.gate == &self->gate);
    if (!nap_may_be_due() || self == NULL || self->gate.is_inside || load_plain(&reclaim_is_kept) != 0 ||
        units <= SMALL_UNITS || option_choice(OPTION_PURGE) == PURGE_NEVER) {
        return UINT64_MAX;
    }
    const uint64_t passed = os_now_ms() - load_plain(&naps.looked_ms);
    return passed >= LOOK_MS ? 0 : LOOK_MS - passed;
}

static bool is_ready(const struct sleeper *sleeper)
{
    invariant(sleeper->count <= FD_SETSIZE || sleeper->sets == NULL);
    return sleeper->count != 0 && (sleeper->sets != NULL ? sets_are_ready(sleeper->sets, (int)sleeper->count)
                                                         : files_are_ready(sleeper->files, sleeper->count));
}

static bool nap_is_over(void)
{
    invariant(naps.sleeper != NULL && !lock_is_held(&keeper.lock));
    invariant(load_plain(&reclaim_is_kept) == 0);
    naps.came = naps.came == SIGNALS_NONE ? signals_came(naps.signals) : naps.came;
    naps.is_ready = naps.is_ready || (naps.steps % ASK_STEPS == 0 && is_ready(naps.sleeper));
    naps.steps++;
    return naps.came != SIGNALS_NONE || naps.is_ready;
}

/* In the child of a vfork, which has its parent's memory, there are none. */
static bool is_own_process(void)
{
    const uint64_t process = os_process_id();
    uint64_t none = 0;
    invariant(process != 0);
    return cas_seq_cst(&naps.process, &none, process) || none == process;
}

enum signals_came nap_take(const struct sleeper *sleeper)
{
    uint64_t before;
    enum signals_came came = SIGNALS_NONE;
    if (!signals_hold_all(&before)) {
        nap_forbid();
        return came;
    }
    if (nap_wait_ms() == 0 && is_own_process()) {
        naps.sleeper = sleeper;
        naps.signals = before;
        naps.steps = 0;
        naps.came = SIGNALS_NONE;
        naps.is_ready = false;
        const bool left = nap_is_over() || keeper_nap(nap_is_over, &naps.swept);
        store_plain(&nap_left, left || naps.came != SIGNALS_NONE || naps.is_ready);
        came = naps.came;
    }
    store_plain(&naps.looked_ms, os_now_ms());
    signals_let_in(before);
    return came;
}

void nap_allow(void)
{
    store_plain(&naps.process, os_process_id());
    store_plain(&nap_is_allowed, 1);
}

void nap_forbid(void)
{
    store_plain(&nap_is_allowed, 0);
}

void nap_is_in_child(void)
{
    store_plain(&naps.process, 0);
}
