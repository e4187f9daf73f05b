/* Call stacks as lines on stderr, under the line of a misuse: "  #0 /usr/bin/server+0x1a2b (handle+0x1c)" for each
 * frame, with an address inside of the call, as addr2line and gdb take it. The name is that of a symbol which others
 * may link to.
 *
 * The process is broken: whatever faults here ends it by abort, as it ends anyway. Nothing allocates. The loader's lock
 * is taken where libc has no other way to its tables, so no lock may be held. Threads: any. */
#ifndef TSLAB_OS_BACKTRACE_H
#define TSLAB_OS_BACKTRACE_H

#include "base/build.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether this library is a checked one. Others never say backtraces. */
enum { BACKTRACES = TSLAB_CHECKED > 1, BACKTRACE_FRAMES = 16 };

/* From now on a fault ends the process by abort, until backtrace_end. False: another thread, or a function below this
 * one, does it already. */
bool backtrace_begin(void);
void backtrace_end(void);

/* The calling thread's stack. */
void backtrace_say_here(void);

/* A stack that was read earlier (call_stack.h). At most BACKTRACE_FRAMES lines; the innermost frames, as long as they
 * are those of our own shared library, are left out. */
void backtrace_say(const uintptr_t *frames, size_t depth);

#endif
