/* Marks a range, touches it, and takes the mark away again. Time beyond FILL_MS each is a debt, and a large debt starts
 * a pause. */
#include "space/huge_pages.h"

#include "common/trace.h"
#include "os/fatal.h"
#include "os/os.h"
#include "space/pages.h"

enum {
    FILL_MS = 1, /* time for a huge page on average. As many small pages take about as long */
    DEBT_MS_MOST = 16,
    PAUSE_SHIFT = 6, /* a pause is this many times as long as its debt */
};

static struct {
    atomic_u64 debt_ms;         /* time of huge pages beyond FILL_MS each */
    atomic_u64 paused_until_ms; /* 0: there was no pause yet */
    atomic_u32 is_filling;      /* written under the depot's lock, and by the filling thread */
} pace;

bool huge_is_possible(void)
{
    return load_plain(&arena.is_huge_on_request) != 0;
}

bool huge_claim(void)
{
    const uint64_t until_ms = load_plain(&pace.paused_until_ms);
    if (load_plain(&pace.is_filling) != 0 || (until_ms != 0 && os_now_ms() < until_ms)) {
        return false;
    }
    store_plain(&pace.is_filling, 1);
    return true;
}

static void add_debt(uint64_t start_ms, uint64_t end_ms)
{
    const uint64_t debt_ms = load_plain(&pace.debt_ms) + (end_ms > start_ms ? end_ms - start_ms : 0);
    if (debt_ms > DEBT_MS_MOST) {
        store_plain(&pace.paused_until_ms, end_ms + (debt_ms << PAUSE_SHIFT));
        store_plain(&pace.debt_ms, 0);
    } else {
        store_plain(&pace.debt_ms, debt_ms - min_size(debt_ms, FILL_MS));
    }
    invariant(load_plain(&pace.debt_ms) <= DEBT_MS_MOST);
}

void huge_fill(uint32_t first)
{
    char *const start = arena_address(first);
    const size_t bytes = (size_t)HUGE_UNITS << UNIT_SHIFT;
    invariant(load_plain(&pace.is_filling) == 1);
    invariant(huge_is_possible() && (uintptr_t)start % bytes == 0);
    invariant(arena.runs[first].kind == RUN_USED);
    invariant(arena.runs[first].units == HUGE_UNITS && load_plain(&arena.units[first].tag) == TAG_NONE);
    const uint64_t start_ms = os_now_ms();
    trace_huge_fill(start);
    if (os_allow_huge(start, bytes, true)) {
        *(volatile char *)start = 0;
        pages_touch_units(first, HUGE_UNITS);
        (void)os_allow_huge(start, bytes, false);
        add_debt(start_ms, os_now_ms());
    } else {
        store_plain(&pace.paused_until_ms, UINT64_MAX); /* it knows no huge pages, or has no mapping left */
    }
    store_plain(&pace.is_filling, 0);
}
