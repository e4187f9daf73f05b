/* Numbers of Linux that the headers of an older system lack (glibc 2.17 with those of Linux 3.10). An older kernel
 * refuses what they ask for, and each caller goes on without. */
#ifndef TSLAB_OS_NEWER_H
#define TSLAB_OS_NEWER_H

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

/* Since 3.17: randomness, and files without a name. */
#ifndef GRND_NONBLOCK
#define GRND_NONBLOCK 1
#endif
#ifndef SYS_getrandom
#ifdef __x86_64__
#define SYS_getrandom    318
#define SYS_memfd_create 319
#else
#define SYS_getrandom    278
#define SYS_memfd_create 279
#endif
#endif
#ifndef MFD_CLOEXEC
#define MFD_CLOEXEC 1
#endif

/* Since 4.14: a write that does not wait. */
#ifndef RWF_NOWAIT
#define RWF_NOWAIT 8
#endif
#ifndef SYS_pwritev2
#ifdef __x86_64__
#define SYS_pwritev2 328
#else
#define SYS_pwritev2 287
#endif
#endif

/* Since 5.9. */
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE 2
#endif

/* Since 6.3. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8
#endif

#endif
