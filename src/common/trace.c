/* Whom the engine tells, filled in by what is above it. */
#include "common/trace.h"

#include <unistd.h>

struct trace trace = { .keeps = STDERR_FILENO };

SEMAPHORE otel_memory_alloc_semaphore, otel_memory_free_semaphore;

noinline void trace_otel_alloc(const void *p, uint64_t bytes, uint64_t weighted_bytes)
{
    PROBE_OTEL_ALLOC(p, bytes, weighted_bytes);
}

noinline void trace_otel_free(const void *p)
{
    PROBE_OTEL_FREE(p);
}
