/* The engine's events: for tracers (probe.h), and for the writer of reports while the program runs, above the engine
 * (report/report_signal.h). The engine's files include this header and know of nothing above it.
 *
 * Nothing here is on the fast path. Where nobody listens, a call costs a load and a branch at most.
 *
 * Threads: any, and anywhere, but for trace_after_slow, trace_from_keeper and trace_in_child. */
#ifndef TSLAB_COMMON_TRACE_H
#define TSLAB_COMMON_TRACE_H

#include "base/atomic.h"
#include "base/bits.h"
#include "base/probe.h"
#include "os/os.h"

/* Called when it is time to look whether a report is due. Set before there are threads. */
struct trace {
    atomic_u32 is_watched; /* 1: the functions below are set, and reports may be due while the program runs */
    void (*after_slow)(void);
    void (*from_keeper)(void);
    void (*in_child)(void); /* set also where is_watched is 0 */
    int keeps;              /* the descriptor of the standard error for reports, which the keeper keeps */
};

extern struct trace trace;

static inline bool trace_is_watched(void)
{
    return unlikely(load_plain(&trace.is_watched) != 0);
}

/* At the end of a slow operation: outside of all gates and locks. */
static inline void trace_after_slow(void)
{
    if (trace_is_watched()) {
        trace.after_slow();
    }
}

/* The keeper comes by. It has no record. */
static inline void trace_from_keeper(void)
{
    if (trace_is_watched()) {
        trace.from_keeper();
    }
}

/* In the child of a fork, which has one thread. */
static inline void trace_in_child(void)
{
    if (trace.in_child != NULL) {
        trace.in_child();
    }
}

/* The probes of OpenTelemetry, for profilers of its contract: an object was sampled, with the bytes that it stands for,
 * and such an object is freed. The kernel counts in a semaphore who listens. The functions have their arguments in the
 * registers of a call, where such profilers look for them. */
#define SEMAPHORE __attribute__((section(".probes"))) atomic_u16
extern SEMAPHORE otel_memory_alloc_semaphore, otel_memory_free_semaphore;

void trace_otel_alloc(const void *p, uint64_t bytes, uint64_t weighted_bytes);
void trace_otel_free(const void *p);

static inline void trace_sample_ends(const void *p)
{
    if (unlikely(load_plain(&otel_memory_free_semaphore) != 0)) {
        trace_otel_free(p);
    }
}

/* Told to tracers alone: a slow operation for slots or objects of `bytes` (enum slow_reason); slabs that come and go;
 * that a malloc or free looks at some slabs, and gives back each free stretch there of at least so many bytes; that a
 * malloc has the system fill a huge page; the life of epochs; purges; limits that are reached, with bytes in use, bytes
 * that are wanted, and the value of the epoch whose limit it is, or 0. */
#define trace_slow(reason, bytes)                        PROBE2(slow, reason, bytes)
#define trace_slab_open(start, slot_bytes, epoch, clean) PROBE4(slab_open, start, slot_bytes, epoch, clean)
#define trace_slab_recycle(start, slot_bytes, epoch)     PROBE3(slab_recycle, start, slot_bytes, epoch)
#define trace_sweep(min_bytes)                           PROBE1(sweep, min_bytes)
#define trace_huge_fill(start)                           PROBE1(huge_fill, start)

#define trace_epoch_open(value, label)         PROBE2(epoch_open, value, label)
#define trace_epoch_close(value)               PROBE1(epoch_close, value)
#define trace_epoch_end(value)                 PROBE1(epoch_end, value)
#define trace_purge_begin(start, bytes)        PROBE2(purge_begin, start, bytes)
#define trace_purge_end(start, bytes, granted) PROBE3(purge_end, start, bytes, granted)
#define trace_limit(kind, used, wanted, epoch) PROBE4(limit, kind, used, wanted, epoch)

#endif
