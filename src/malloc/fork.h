/* Fork: what happens before it, and after it in the parent and in the child.
 *
 * Before a fork the forking thread brings the other threads to rest. It blocks its own signals, takes libc's streams
 * where these allocate here, and takes every lock that a slow operation may be cut in: the engine's, the registry's,
 * and the gates of all other threads. Then nothing is half done except single steps outside of gates, which leave
 * notes. After the fork it opens everything again. In the child it first repairs what those steps were cut in, then
 * closes the records of the threads that the child does not have. At last, without any lock, it completes the closes of
 * epochs that only those threads delayed.
 *
 * A process that never had a second thread skips all of this, so a signal handler that has interrupted anything may
 * fork there. tslab.h and docs/limits.md say what a program can rely on. The card of the protocol is
 * docs/protocols/thread.md.
 *
 * Threads: any. */
#ifndef TSLAB_MALLOC_FORK_H
#define TSLAB_MALLOC_FORK_H

/* Sets the fork handlers, unless that has succeeded before. May allocate. */
void fork_watch(void);

#endif
