/* Probes for tracers (USDT): places that perf, bpftrace and SystemTap can stop at in a running process. Each is a nop
 * until a tracer puts a breakpoint in its place, and a note in the file (.note.stapsdt) that names it and tells where
 * its arguments are. There is none on the fast path. docs/tracing.md lists them for users, and a test compares.
 *
 * Arguments are values that the caller has at hand anyway, for they are evaluated also while nobody listens.
 *
 * Where <sys/sdt.h> is missing, and in the simulation, there are no probes. */
#ifndef TSLAB_BASE_PROBE_H
#define TSLAB_BASE_PROBE_H

#include "base/build.h"

#include <stdint.h>

/* Why an operation was slow: the first argument of the probe `slow`. */
enum slow_reason {
    SLOW_NONE,
    SLOW_KEPT,      /* malloc: a full tray of the thread's own */
    SLOW_EXCHANGE,  /* malloc: a full tray that waited for any thread */
    SLOW_SLAB,      /* malloc: slots out of a slab */
    SLOW_CHUNK,     /* malloc in an epoch: the chunk is full */
    SLOW_LAST,      /* malloc: no memory is left, so caches are emptied */
    SLOW_HAND_OVER, /* free: the full tray goes to the exchange, or is kept */
    SLOW_FLUSH,     /* free: slots go back to their slabs */
    SLOW_OUTBOX,    /* free: slots of other heaps' slabs go back together */
    SLOW_SLAB_LOOK, /* free: a slab became partial or empty */
};

/* The limit that was reached: the first argument of the probe `limit`. */
enum limit_kind {
    LIMIT_KIND_HARD,
    LIMIT_KIND_SOFT,
    LIMIT_KIND_CONTAINER,
    LIMIT_KIND_EPOCH,
    LIMIT_KIND_SHARED, /* of several epochs together */
    LIMIT_KIND_NO_MEMORY,
};

#if TSLAB_PROBES
/* Each argument is a number of 64 bits in a register: perf reads neither constants nor memory by an index, and wants
 * all places of a probe alike. */
#define STAP_SDT_ARG_CONSTRAINT r
/* By a macro, so that only compilers that have the header read it. */
/* clang-format off */
#define PROBE_HEADER <sys/sdt.h> /* NOLINT(bugprone-macro-parentheses) */
/* clang-format on */
#include PROBE_HEADER
/* The provider tslab has no semaphores, and otel_memory has one for each probe. The header knows all or none. */
#undef _SDT_SEMAPHORE
#define _SDT_SEMAPHORE(provider, name) _SDT_ASM_1(_SDT_ASM_ADDR SEMAPHORE_OF_##provider(name))
#define SEMAPHORE_OF_tslab(name)       0
#define SEMAPHORE_OF_otel_memory(name) otel_memory_##name##_semaphore
#define PROBE_ARGUMENT(x)              ((uint64_t)(uintptr_t)(x))
#define PROBE1(name, a)                STAP_PROBE1(tslab, name, PROBE_ARGUMENT(a))
#define PROBE2(name, a, b)             STAP_PROBE2(tslab, name, PROBE_ARGUMENT(a), PROBE_ARGUMENT(b))
#define PROBE3(name, a, b, c)          STAP_PROBE3(tslab, name, PROBE_ARGUMENT(a), PROBE_ARGUMENT(b), PROBE_ARGUMENT(c))
#define PROBE4(name, a, b, c, d)                                                                                       \
    STAP_PROBE4(tslab, name, PROBE_ARGUMENT(a), PROBE_ARGUMENT(b), PROBE_ARGUMENT(c), PROBE_ARGUMENT(d))
#define PROBE_OTEL_ALLOC(p, size, weight)                                                                              \
    STAP_PROBE3(otel_memory, alloc, PROBE_ARGUMENT(p), PROBE_ARGUMENT(size), PROBE_ARGUMENT(weight))
#define PROBE_OTEL_FREE(p) STAP_PROBE1(otel_memory, free, PROBE_ARGUMENT(p))
#else
#define PROBE1(name, a)          ((void)(a))
#define PROBE2(name, a, b)       ((void)(a), (void)(b))
#define PROBE3(name, a, b, c)    ((void)(a), (void)(b), (void)(c))
#define PROBE4(name, a, b, c, d) ((void)(a), (void)(b), (void)(c), (void)(d))

#define PROBE_OTEL_ALLOC(p, size, weight) ((void)(p), (void)(size), (void)(weight))
#define PROBE_OTEL_FREE(p)                ((void)(p))
#endif

#endif
