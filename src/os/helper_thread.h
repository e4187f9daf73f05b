/* A thread of the library's own, apart from those of the program: on whatever processor the process may use, at no
 * higher priority than others, with a table of descriptors of its own.
 *
 * A program may have confined itself by a filter that ends it for system calls that it does not expect. So a process
 * that has a filter which it had not at the start makes none of these calls. (To ask for the filter is a system call,
 * too, docs/limits.md.)
 *
 * Libc's join returns when the thread will run no more code of the program. The kernel counts it among the threads of
 * the process for a little longer. helper_thread_wait waits for that, too.
 *
 * Threads: helper_thread_note before other threads run; helper_thread_make in the thread itself. */
#ifndef TSLAB_OS_HELPER_THREAD_H
#define TSLAB_OS_HELPER_THREAD_H

#include "base/build.h"

#include <stdbool.h>
#include <stdint.h>

/* Notes which processors the process may use, and whether it has a filter. */
void helper_thread_note(void);

/* Sets the calling thread apart, and names it, in at most 15 characters. has_files: its table of descriptors becomes
 * its own, and empty, where the kernel can. Otherwise the table stays that of the process. Returns whether the thread
 * has a table of its own. */
bool helper_thread_make(const char *name, bool has_files);

/* Waits until the thread with this number (os_thread_id), which was joined, is gone. Asks in a way in which libc's own
 * malloc asks for the number of processors, so that a filter should have nothing against it. */
void helper_thread_wait(uint32_t thread);

#endif
