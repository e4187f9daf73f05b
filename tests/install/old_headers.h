// Included before all else, it makes the system's headers as poor as those of glibc 2.17 on Linux 3.10 (CentOS 7).
#define mallinfo2    mallinfo_of_later
#define reallocarray reallocarray_of_later
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#undef mallinfo2
#undef reallocarray

#undef __GLIBC_PREREQ
#define __GLIBC_PREREQ(major, minor) (((major) << 16) + (minor) <= (2 << 16) + 17)

#undef F_ADD_SEALS
#undef F_OFD_GETLK
#undef F_SEAL_FUTURE_WRITE
#undef F_SEAL_GROW
#undef F_SEAL_SEAL
#undef F_SEAL_SHRINK
#undef MFD_ALLOW_SEALING
#undef MFD_CLOEXEC
#undef MFD_NOEXEC_SEAL
#undef MREMAP_DONTUNMAP
#undef SYS_getrandom
#undef SYS_memfd_create
