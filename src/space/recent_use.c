/* A window that ends becomes the one before. */
#include "space/recent_use.h"

#include "base/bits.h"
#include "os/fatal.h"

enum {
    FORGET_WINDOWS = 4, /* a window that began so long before another tells nothing about it */
    LITTLE_SHIFT = 5,   /* this fraction of the peak is a little */
};

static void turn_window(struct recent_use *use, size_t units, uint64_t now_ms, uint64_t window_ms)
{
    const bool is_forgotten = now_ms - use->since_ms >= FORGET_WINDOWS * window_ms;
    invariant(now_ms > use->since_ms && use->now.low <= use->now.peak);
    invariant(use->low <= use->top && use->now.peak <= use->top);
    use->peak_before = is_forgotten ? units : use->now.peak;
    use->reuse_before = is_forgotten ? 0 : use->now.reuse;
    use->reuse_sum_before = is_forgotten ? 0 : use->now.reuse_sum;
    store_plain(&use->missed, is_forgotten ? 0 : load_plain(&use->missed) / 2);
    use->unfit_sum = is_forgotten ? 0 : use->unfit_sum / 2;
    use->now = (struct use_window){ .low = units, .peak = units };
    use->since_ms = now_ms;
    if (use->top > use->peak_before) {
        use->top = use->peak_before;
        use->low = min_size(use->low, use->top);
    }
}

/* Notes what was freed and is taken again, when the use changes from `before` to `units`. */
static void note_reuse(struct recent_use *use, size_t before, size_t units)
{
    use->now.reuse = max_size(use->now.reuse, min_size(units, use->top) - min_size(use->low, units));
    use->now.reuse_sum += max_size(min_size(units, use->top), before) - before;
    use->low = units > use->top ? units : min_size(use->low, units);
    use->top = max_size(use->top, units);
    invariant(use->low <= units && units <= use->top);
}

void recent_use_note(struct recent_use *use, size_t units, uint64_t now_ms, uint64_t window_ms)
{
    const size_t before = max_size(use->now.peak, use->peak_before) - load_plain(&use->below_peak);
    /* Threads read the clock before they take the lock. */
    if (now_ms > use->since_ms && now_ms - use->since_ms >= window_ms) {
        turn_window(use, units, now_ms, window_ms);
    }
    struct use_window *const now = &use->now;
    now->low = min_size(now->low, units);
    now->peak = max_size(now->peak, units);
    now->rise = max_size(now->rise, units - now->low);
    note_reuse(use, before, units);
    const size_t peak = max_size(now->peak, use->peak_before);
    invariant(now->low <= units && units <= peak && now->rise <= peak && now->reuse <= peak);
    store_plain(&use->reuse, max_size(now->reuse, use->reuse_before));
    store_plain(&use->reuse_sum, now->reuse_sum + use->reuse_sum_before);
    store_plain(&use->below_peak, peak - units);
    const size_t little = load_plain(&use->missed) + (peak >> LITTLE_SHIFT);
    store_plain(&use->unfit, use->unfit_sum > little ? use->unfit_sum - little : 0);
}
