/* Some of everything that the library can do, for tests in which memory, or something else of the system, is short. A
 * refusal must be ENOMEM, and leave all as it was. An object that is served must be whole. */
#ifndef WORK_H
#define WORK_H

#include "check.h"

/* Returns how often something was refused: memory, a thread, a child. In the end all is freed. */
size_t work(void);

/* Threads that wait for one another for the library's locks. They must be served. */
void contend_all(void);

#endif
