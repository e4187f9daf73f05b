/* The files of the drop-in that have the names of libc and of C++, under other names. Its headers are included before,
 * since they mean the real names. */
#include "epoch/scope.h"
#include "malloc/fast.h"
#include "os/fatal.h"
#include "os/os.h"
#include "report/statistics.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tslab/tslab.h>
#include <unistd.h>

#define malloc             fuzzed_malloc
#define free               fuzzed_free
#define calloc             fuzzed_calloc
#define realloc            fuzzed_realloc
#define reallocarray       fuzzed_reallocarray
#define memalign           fuzzed_memalign
#define aligned_alloc      fuzzed_aligned_alloc
#define posix_memalign     fuzzed_posix_memalign
#define valloc             fuzzed_valloc
#define pvalloc            fuzzed_pvalloc
#define malloc_usable_size fuzzed_malloc_usable_size
#define free_sized         fuzzed_free_sized
#define free_aligned_sized fuzzed_free_aligned_sized
#define cfree              fuzzed_cfree
#define malloc_trim        fuzzed_malloc_trim
#define mallopt            fuzzed_mallopt
#define mallinfo           fuzzed_mallinfo
#define mallinfo2          fuzzed_mallinfo2
#define malloc_stats       fuzzed_malloc_stats
#define malloc_info        fuzzed_malloc_info
#define __libc_malloc      fuzzed___libc_malloc
#define __libc_calloc      fuzzed___libc_calloc
#define __libc_realloc     fuzzed___libc_realloc
#define __libc_memalign    fuzzed___libc_memalign
#define __libc_valloc      fuzzed___libc_valloc
#define __libc_pvalloc     fuzzed___libc_pvalloc
#define __libc_free        fuzzed___libc_free

#define _Znwm                               fuzzed__Znwm
#define _Znam                               fuzzed__Znam
#define _ZnwmRKSt9nothrow_t                 fuzzed__ZnwmRKSt9nothrow_t
#define _ZnamRKSt9nothrow_t                 fuzzed__ZnamRKSt9nothrow_t
#define _ZnwmSt11align_val_t                fuzzed__ZnwmSt11align_val_t
#define _ZnamSt11align_val_t                fuzzed__ZnamSt11align_val_t
#define _ZnwmSt11align_val_tRKSt9nothrow_t  fuzzed__ZnwmSt11align_val_tRKSt9nothrow_t
#define _ZnamSt11align_val_tRKSt9nothrow_t  fuzzed__ZnamSt11align_val_tRKSt9nothrow_t
#define _ZdlPv                              fuzzed__ZdlPv
#define _ZdaPv                              fuzzed__ZdaPv
#define _ZdlPvm                             fuzzed__ZdlPvm
#define _ZdaPvm                             fuzzed__ZdaPvm
#define _ZdlPvRKSt9nothrow_t                fuzzed__ZdlPvRKSt9nothrow_t
#define _ZdaPvRKSt9nothrow_t                fuzzed__ZdaPvRKSt9nothrow_t
#define _ZdlPvSt11align_val_t               fuzzed__ZdlPvSt11align_val_t
#define _ZdaPvSt11align_val_t               fuzzed__ZdaPvSt11align_val_t
#define _ZdlPvmSt11align_val_t              fuzzed__ZdlPvmSt11align_val_t
#define _ZdaPvmSt11align_val_t              fuzzed__ZdaPvmSt11align_val_t
#define _ZdlPvSt11align_val_tRKSt9nothrow_t fuzzed__ZdlPvSt11align_val_tRKSt9nothrow_t
#define _ZdaPvSt11align_val_tRKSt9nothrow_t fuzzed__ZdaPvSt11align_val_tRKSt9nothrow_t

#include "names.h"

#include "api/cxx.c"
#include "api/malloc.c"

/* libc's functions on top of malloc. */
char *fuzzed_strndup(const char *text, size_t most)
{
    const size_t length = strnlen(text, most);
    char *const copy = fuzzed_malloc(length + 1);
    if (copy != NULL) {
        memcpy(copy, text, length);
        copy[length] = 0;
    }
    return copy;
}
