/* A library that allocates for its callers and for itself, and knows nothing of epochs. */
#ifndef AMBIENT_LIBRARY_H
#define AMBIENT_LIBRARY_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All the ways in which C allocates, one after another; NULL after the last. The caller frees it. */
void *library_allocate(size_t way, size_t size);

/* A list of strings that the library keeps. */
void library_remember(const char *text);
size_t library_count(void);
const char *library_recall(size_t i);
void library_forget(void);

/* All the ways in which C++ allocates. Each is deleted in its own way. */
void *library_new(size_t way, size_t size);
void library_delete(size_t way, void *p, size_t size);

#ifdef __cplusplus
}
#endif

#endif
