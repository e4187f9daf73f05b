/* The check at the end of the program: it looks for misuse that was not noticed before.
 *
 * The release library looks for double frees and interior pointers among the slots that the thread caches. The checked
 * libraries look for writes beyond the end of objects that were never freed. It ends the program when it finds any.
 *
 * Threads: the one that ends the program. */
#ifndef TSLAB_MALLOC_EXIT_CHECK_H
#define TSLAB_MALLOC_EXIT_CHECK_H

/* Runs the check, once, when the program ends. */
void exit_check(void);

#endif
