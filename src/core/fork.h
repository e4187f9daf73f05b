/* Fork: what happens before it, and after it in the parent and in the child.
 *
 * Before a fork the forking thread brings the others to rest: it holds its own signals, takes libc's streams where
 * these allocate here, and takes every lock that a slow operation may be cut in (the engine's, the registry's, the
 * gates of all other threads). Nothing is half done then but single steps outside of gates, which leave notes.
 * Afterwards it opens all again. In the child it first makes true what those steps were cut in, then closes the records
 * of the threads that the child does not have, and at last, without any lock, completes the closes of epochs that only
 * they delayed.
 *
 * A process that never had a second thread skips all of this, so a signal handler that has interrupted anything may
 * fork there. What a program can rely on is said in tslab.h and docs/limits.md; the card is docs/protocols/thread.md.
 *
 * Threads: any. */
#ifndef TSLAB_CORE_FORK_H
#define TSLAB_CORE_FORK_H

/* Sets the fork handlers, unless that has succeeded before. May allocate. */
void fork_watch(void);

#endif
