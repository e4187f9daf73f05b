/* The call stack of the calling thread, as addresses to return to.
 *
 * The unwinder is the compiler's own (_Unwind_Backtrace of libgcc), which C++ exceptions use, too: it reads the tables
 * that nearly every binary has (.eh_frame), so nobody needs frame pointers (docs/decisions/profiles.md). Our shared
 * libraries have a copy of it inside: to load one would be too early when a program starts, and in the middle of an
 * allocation it would wait for the loader. Older ones take the loader's lock to find a table, so no lock may be held.
 *
 * Threads: any. Nothing allocates, except in a program that has registered tables of its own. */
#ifndef TSLAB_OS_CALL_STACK_H
#define TSLAB_OS_CALL_STACK_H

#include "base/build.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STACK_FRAMES = 64 };

/* Before the first stack is read. It waits for the loader, so not with a lock or in an allocation. */
void stack_prepare(void);

/* Writes the addresses that the calling functions return to, the innermost one first, and returns how many there are,
 * at most STACK_FRAMES: the outermost ones are left out. Without any lock. */
size_t stack_read(uintptr_t frames[STACK_FRAMES]);

/* Backtraces: call stacks as lines on stderr, under the line of a misuse: "  #0 /usr/bin/server+0x1a2b (handle+0x1c)"
 * for each frame, with an address inside of the call, as addr2line and gdb take it. The name is that of a symbol which
 * others may link to. The process is broken: whatever faults here ends it by abort, as it ends anyway. */

/* Whether this library is a checked one. Others never say backtraces. */
enum { BACKTRACES = TSLAB_CHECKED > 1, BACKTRACE_FRAMES = 16 };

/* From now on a fault ends the process by abort, until backtrace_end. False: another thread, or a function below this
 * one, does it already. */
bool backtrace_begin(void);
void backtrace_end(void);

/* The calling thread's stack. */
void backtrace_say_here(void);

/* A stack that was read earlier (stack_read). At most BACKTRACE_FRAMES lines. The innermost frames that are our own
 * shared library's are left out. */
void backtrace_say(const uintptr_t *frames, size_t depth);

#endif
