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

/* Sets the calling thread apart, and names it, in at most 15 characters. Its table of descriptors becomes its own, and
 * empty but for `keeps`, which becomes its standard error (-1: there is none), where the kernel can. So programs that
 * close all descriptors close none of its own, and no child of a fork inherits one. Its os_write never waits for long.
 * Returns whether it has such a table. */
bool helper_thread_make(const char *name, int keeps);

/* Gives up the capabilities that the process's first thread has given up since. A program that gives them up thread by
 * thread, as libpsx does, does not know of this one. It never has fewer than the first thread: by the rights of any of
 * its threads the kernel decides who may look into a process. */
void helper_thread_follow(void);

/* Has it note at each such look whether the process has a filter that it had not at the start. Before it is made. */
void helper_thread_watch_filter(void);

/* Whether the calling thread may open files: it is such a thread, or none has seen a new filter. */
bool helper_thread_may_open(void);

/* Whether the calling thread has a table of descriptors of its own. */
bool helper_thread_is_apart(void);

/* Whether, in addition, the process had no filter at the start, so that the thread may make calls that filters seldom
 * know: systemd's @system-service has no mincore. */
bool helper_thread_may_ask(void);

/* Whether it was noted that the process had no filter at its start. Any thread. */
bool helper_thread_found_no_filter(void);

/* Waits until the thread with this number (os_thread_id), which was joined, is gone. Asks in a way in which libc's own
 * malloc asks for the number of processors, so that a filter should have nothing against it. */
void helper_thread_wait(uint32_t thread);

#endif
