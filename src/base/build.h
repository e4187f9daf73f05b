/* The knobs of the build. Each is always a number, and each has a default, so that the sources compile without a flag.
 * Comes before every header of the system. */
#ifndef TSLAB_BASE_BUILD_H
#define TSLAB_BASE_BUILD_H

/* The declarations of GNU. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#if defined(__GLIBC__) && !defined(__USE_GNU)
#error "base/build.h must come before every header of the system"
#endif

/* 1: every internal check. 2: the library that users run as `checked`, with guards around objects, too. */
#ifndef TSLAB_CHECKED
#define TSLAB_CHECKED 0
#endif

/* 0: pages are never moved. For emulators that take the old place of moved pages for unmapped (qemu's user mode). */
#ifndef TSLAB_MOVES
#define TSLAB_MOVES 1
#endif

/* 1: the linker leads the unwinder's calls of _dl_find_object to us (--wrap), so that older systems will do. */
#ifndef TSLAB_WRAPS
#define TSLAB_WRAPS 0
#endif

/* 1: the build for the deterministic scheduler. */
#ifndef TSLAB_SIM
#define TSLAB_SIM 0
#endif

/* 1: probes for tracers (base/probe.h). By default, where their header is. */
#ifndef TSLAB_PROBES
#define TSLAB_PROBES 0
#if defined(__has_include) && !TSLAB_SIM
#if __has_include(<sys/sdt.h>)
#undef TSLAB_PROBES
#define TSLAB_PROBES 1
#endif
#endif
#endif

/* 1: libc's names are linked into the program itself. There is no other malloc then, and a program without a dynamic
 * loader has nothing to look names up with. 0: they are in a shared library. By default the compiler's flags tell: only
 * a shared library is compiled with -fPIC and without -fPIE. */
#ifndef TSLAB_LINKED_IN
#if defined(__PIC__) && !defined(__PIE__)
#define TSLAB_LINKED_IN 0
#else
#define TSLAB_LINKED_IN 1
#endif
#endif

#endif
