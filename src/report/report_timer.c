/* The time is looked at twice: before the thread claims the right to write, and after, for another thread may have
 * written meanwhile. */
#include "report/report_timer.h"

#include "audit/accounts.h"
#include "common/option.h"
#include "common/trace.h"
#include "space/reclaim.h"
#include "thread/heap.h"
#include "thread/thread.h"

#include <errno.h>

struct report_timer due;

static bool has_come(void)
{
    const uint64_t interval_ms = option_number_of(option_get(OPTION_STATS));
    if (due.write == NULL) { /* before report_timer_start */
        return false;
    }
    return load_plain(&due.is_asked) != 0 ||
           (interval_ms != 0 &&
            report_is_time(load_plain(&due.last_ms), load_plain(&due.took_ms), interval_ms, REPORT_SHARE));
}

/* Late: the keeper comes sooner. */
enum { POST_LATE_MS = 1000, NS_OF_MS = 1000000 };

static bool has_to_post(uint64_t late_ms)
{
    return due.post != NULL && os_now_ms() >= load_plain(&due.next_ms) + late_ms;
}

static bool has_to_obey(uint64_t late_ms)
{
    return due.is_wanted != NULL && late_ms == 0 && due.is_wanted();
}

static bool claim_the_report(void)
{
    uint32_t nobody = 0;
    return cas_acquire(&due.is_writing, &nobody, 1);
}

static void let_go(int saved)
{
    invariant(load_plain(&due.is_writing) == 1);
    errno = saved;
    store_release(&due.is_writing, 0);
}

static void write_claimed(void)
{
    const uint64_t begun_ns = os_now_ns();
    store_plain(&due.is_asked, 0); /* a signal that comes from now on asks for the next report */
    due.write();
    store_plain(&due.took_ms, (not_below_zero(os_now_ns(), begun_ns) + NS_OF_MS - 1) / NS_OF_MS);
    store_plain(&due.last_ms, os_now_ms());
    invariant(load_plain(&due.is_writing) == 1);
}

static void post_claimed(bool at_once)
{
    const uint64_t pause_ms = due.post(at_once);
    invariant(load_plain(&due.is_writing) == 1 && pause_ms != 0);
    store_plain(&due.next_ms, os_now_ms() + pause_ms);
}

static void write_or_post(uint64_t late_ms)
{
    const int saved = errno;
    if ((has_to_obey(late_ms) || has_come() || has_to_post(late_ms)) && claim_the_report()) {
        const bool obeys = has_to_obey(late_ms);
        if (obeys) {
            due.do_wanted();
        }
        if (has_come()) {
            write_claimed();
        }
        if ((obeys && due.post != NULL) || has_to_post(late_ms)) {
            post_claimed(obeys);
        }
        let_go(saved);
    }
}

noinline void report_timer_write(void)
{
    write_or_post(load_plain(&reclaim_is_kept) != 0 ? POST_LATE_MS : 0);
}

/* For a thread that is to have no record. */
static void write_without_record(void)
{
    struct front *const front = front_current;
    invariant(front->thread == NULL);
    front_current = &front_gone;
    write_or_post(0);
    invariant(front_current == &front_gone);
    front_current = front;
}

static void handle(int number)
{
    invariant(number == (int)option_get(OPTION_STATS_SIGNAL));
    store_plain(&due.is_asked, 1);
}

/* In the child of a fork: another thread may have been writing, and what the child posts is its own. */
static void forget_the_writer(void)
{
    store_plain(&due.next_ms, 0);
    store_plain(&due.is_writing, 0);
}

void report_timer_start(void (*write)(void))
{
    const int number = (int)option_get(OPTION_STATS_SIGNAL);
    invariant(due.write == NULL && write != NULL && trace.after_slow == NULL);
    due.write = write;
    trace.after_slow = report_timer_write;
    trace.from_keeper = write_without_record;
    trace.in_child = forget_the_writer;
    store_plain(&due.last_ms, os_now_ms());
    const bool asks = number != 0 && os_signal_watch(number, handle);
    if (asks || option_number_of(option_get(OPTION_STATS)) != 0) {
        store_plain(&trace.is_watched, 1);
    }
}

void report_timer_obey(bool (*is_wanted)(void), void (*do_wanted)(void))
{
    invariant(due.is_wanted == NULL && is_wanted != NULL && load_plain(&due.is_writing) == 1);
    due.do_wanted = do_wanted;
    due.is_wanted = is_wanted;
}

void report_timer_arm(void)
{
    store_plain(&due.took_ms, 0);
    store_plain(&due.last_ms, os_now_ms());
    store_plain(&trace.is_watched, 1);
}

void report_timer_post(uint64_t (*post)(bool at_once))
{
    invariant(due.post == NULL && post != NULL);
    due.post = post;
    const int saved = errno;
    if (claim_the_report()) {
        post_claimed(false);
        let_go(saved);
    }
    store_plain(&trace.is_watched, 1);
}
