/* What is looked for when the program ends: misuse that nothing has come by.
 *
 * In the release library: double frees and interior pointers among what the thread caches. In the checked libraries:
 * writes beyond the end of objects that were never freed. Ends the program when it finds any. */
#ifndef TSLAB_CORE_EXIT_CHECK_H
#define TSLAB_CORE_EXIT_CHECK_H

/* By the thread that ends the program. */
void exit_check(void);

#endif
