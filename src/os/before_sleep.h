/* System calls of a thread that works before it sleeps in a call of the program's. Made without libc, whose functions
 * leave out signals of its own.
 *
 * Threads: any. errno is left alone. */
#ifndef TSLAB_OS_BEFORE_SLEEP_H
#define TSLAB_OS_BEFORE_SLEEP_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/select.h>

/* Has every signal wait. *before receives the mask. False: the system refuses. */
bool signals_hold_all(uint64_t *before);
void signals_let_in(uint64_t before);

/* Which signals wait that the mask lets in. SIGNALS_OTHER: they have no handler, or one of libc's own. */
enum signals_came { SIGNALS_NONE, SIGNALS_OTHER, SIGNALS_RESTART, SIGNALS_INTERRUPT };
enum signals_came signals_came(uint64_t before);

/* Whether poll, or select with these three sets of up to FD_SETSIZE files, would return at once, also because it fails.
 * files_wait waits for so long, with signals held. */
bool files_are_ready(struct pollfd *files, nfds_t count);
bool files_wait(struct pollfd *files, nfds_t count, uint64_t ms);
bool sets_are_ready(fd_set *const sets[3], int count);

/* Whether the file is there, and a call would wait for it. */
bool file_blocks(int file);

/* Whether the program's memory can be read, from its first word to its last. They lie on two pages at most. */
bool memory_is_readable(const void *start, size_t bytes);

#endif
