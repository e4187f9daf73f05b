/* The request is read twice: before the thread claims the right to write, and after, for another thread may have
 * written meanwhile. */
#include "report/report_signal.h"

#include "common/option.h"
#include "common/trace.h"
#include "os/fatal.h"
#include "os/os.h"
#include "report/black_box.h"
#include "thread/heap.h"
#include "thread/thread.h"

#include <errno.h>

struct report_signal report_signal;

static bool report_is_asked(void)
{
    return load_plain(&report_signal.is_asked) != 0;
}

noinline void report_signal_write(void)
{
    const int saved = errno;
    uint32_t nobody = 0;
    const bool box_is_due = black_box_is_due();
    if (!(report_is_asked() || box_is_due) || !cas_acquire(&report_signal.is_writing, &nobody, 1)) {
        return;
    }
    if (report_is_asked()) {
        store_plain(&report_signal.is_asked, 0); /* a signal that comes from now on asks for the next report */
        report_signal.write();
    }
    if (box_is_due) {
        black_box_write();
    }
    invariant(load_plain(&report_signal.is_writing) == 1);
    errno = saved;
    store_release(&report_signal.is_writing, 0);
}

/* For the keeper, which is to have no record. */
static void come_by_without_record(void)
{
    struct front *const front = front_current;
    invariant(front != &front_gone);
    front_current = &front_gone;
    report_signal_write();
    if (report_signal.answer != NULL) {
        report_signal.answer();
    }
    invariant(front_current == &front_gone);
    front_current = front;
}

static void handle(int number)
{
    invariant(number == (int)option_get(OPTION_STATS_SIGNAL));
    store_plain(&report_signal.is_asked, 1);
}

/* In the child of a fork: another thread may have been writing. */
static void forget_the_writer(void)
{
    store_plain(&report_signal.is_writing, 0);
}

void report_signal_start(void (*write)(void))
{
    const int number = (int)option_get(OPTION_STATS_SIGNAL);
    invariant(report_signal.write == NULL && write != NULL && trace.after_slow == NULL);
    report_signal.write = write;
    trace.after_slow = report_signal_write;
    trace.from_keeper = come_by_without_record;
    trace.in_child = forget_the_writer;
    if (number != 0 && os_signal_watch(number, handle)) {
        store_plain(&trace.is_watched, 1);
    }
}
