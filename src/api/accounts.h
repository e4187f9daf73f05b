/* The accounts of memory, and the size classes, as text.
 *
 * Threads: any. */
#ifndef TSLAB_API_ACCOUNTS_H
#define TSLAB_API_ACCOUNTS_H

/* Writes the accounts that are not empty as text. */
void accounts_print(int fd);

/* Writes a table of the size classes that waste most. */
void classes_print(int fd);

#endif
