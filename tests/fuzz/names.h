/* The names of libc that the drop-in library defines. Where it is linked they are the program's own. Elsewhere, as in
 * builds whose sanitizer has a malloc, names.c compiles the same file under names that nobody else has. */
#ifndef NAMES_H
#define NAMES_H

#include <stddef.h>
#include <stdio.h>

#if FUZZ_DROPIN
#include <malloc.h>
#define NAME(name) name
#else
#define NAME(name) fuzzed_##name
/* The structure of malloc.h. */
struct fuzzed_mallinfo2 {
    size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};
struct fuzzed_mallinfo {
    int arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};
#endif

void *NAME(malloc)(size_t size);
void NAME(free)(void *p);
void *NAME(calloc)(size_t count, size_t size);
void *NAME(realloc)(void *p, size_t size);
void *NAME(reallocarray)(void *p, size_t count, size_t size);
void *NAME(memalign)(size_t alignment, size_t size);
void *NAME(aligned_alloc)(size_t alignment, size_t size);
int NAME(posix_memalign)(void **where, size_t alignment, size_t size);
void *NAME(valloc)(size_t size);
void *NAME(pvalloc)(size_t size);
size_t NAME(malloc_usable_size)(void *p);
void NAME(free_sized)(void *p, size_t size);
void NAME(free_aligned_sized)(void *p, size_t alignment, size_t size);
void NAME(cfree)(void *p);
void *NAME(__libc_malloc)(size_t size);
void *NAME(__libc_calloc)(size_t count, size_t size);
void *NAME(__libc_realloc)(void *p, size_t size);
void *NAME(__libc_memalign)(size_t alignment, size_t size);
void *NAME(__libc_valloc)(size_t size);
void *NAME(__libc_pvalloc)(size_t size);
void NAME(__libc_free)(void *p);
int NAME(malloc_trim)(size_t pad);
int NAME(mallopt)(int parameter, int value);
struct NAME(mallinfo2) NAME(mallinfo2)(void);
struct NAME(mallinfo) NAME(mallinfo)(void);
void NAME(malloc_stats)(void);
int NAME(malloc_info)(int options, FILE *stream);
char *NAME(strndup)(const char *text, size_t most);

/* C++'s operators new and delete: plain, of arrays, with an alignment, and those that do not throw. */
void *NAME(_Znwm)(size_t size);
void *NAME(_Znam)(size_t size);
void *NAME(_ZnwmRKSt9nothrow_t)(size_t size, const void *nothrow);
void *NAME(_ZnamRKSt9nothrow_t)(size_t size, const void *nothrow);
void *NAME(_ZnwmSt11align_val_t)(size_t size, size_t alignment);
void *NAME(_ZnamSt11align_val_t)(size_t size, size_t alignment);
void *NAME(_ZnwmSt11align_val_tRKSt9nothrow_t)(size_t size, size_t alignment, const void *nothrow);
void *NAME(_ZnamSt11align_val_tRKSt9nothrow_t)(size_t size, size_t alignment, const void *nothrow);
void NAME(_ZdlPv)(void *p);
void NAME(_ZdaPv)(void *p);
void NAME(_ZdlPvm)(void *p, size_t size);
void NAME(_ZdaPvm)(void *p, size_t size);
void NAME(_ZdlPvRKSt9nothrow_t)(void *p, const void *nothrow);
void NAME(_ZdaPvRKSt9nothrow_t)(void *p, const void *nothrow);
void NAME(_ZdlPvSt11align_val_t)(void *p, size_t alignment);
void NAME(_ZdaPvSt11align_val_t)(void *p, size_t alignment);
void NAME(_ZdlPvmSt11align_val_t)(void *p, size_t size, size_t alignment);
void NAME(_ZdaPvmSt11align_val_t)(void *p, size_t size, size_t alignment);
void NAME(_ZdlPvSt11align_val_tRKSt9nothrow_t)(void *p, size_t alignment, const void *nothrow);
void NAME(_ZdaPvSt11align_val_tRKSt9nothrow_t)(void *p, size_t alignment, const void *nothrow);

#endif
