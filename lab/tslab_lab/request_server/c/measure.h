// What the server measures of itself: for each request how long its handler took, by the wall and by the processor's
// time. A worker records in memory of its own that is never
// allocated, so that measuring does not disturb what is measured.

#ifndef MEASURE_H
#define MEASURE_H

#include "object.h"

enum { WORKERS_MOST = 64 };

// Looked at when a handler begins.
struct moment {
    uint64_t wall_ns;
    uint64_t cpu_ns;
    struct tally tally;
};

struct moment measure_begin(void);
void measure_end(const struct moment *begin);

// Starts anew, as if nothing had been measured: after a warm-up. Only when no request is being handled.
void measure_reset(void);

// Writes the figures as one JSON object; `worker_count` is how many threads were asked for.
void measure_write(FILE *out, unsigned worker_count);

#endif
