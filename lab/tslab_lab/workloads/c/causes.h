// Why a call of the allocator took long: what the probes of tslab's slow paths (src/base/probe.h) tell of it. A build
// of the library with the header probes/sys/sdt.h in place of the tracers' calls lab_probe, which the program that is
// measured has. Any other library calls it never.

#ifndef CAUSES_H
#define CAUSES_H

#include <stdint.h>

typedef enum {
    PROBED_slab_open,
    PROBED_slab_recycle,
    PROBED_large_alloc,
    PROBED_large_free,
    PROBED_purge_begin,
    PROBED_purge_end,
    PROBED_epoch_open,
    PROBED_epoch_close,
    PROBED_epoch_end,
    PROBED_slow,
    PROBED_sweep,
    PROBED_huge_fill,
    PROBED_lock_wait,
    PROBED_limit,
} probed;

// In the thread that a probe is in, with its first argument.
__attribute__((weak, visibility("default"))) void lab_probe(probed where, uint64_t first);

#endif
