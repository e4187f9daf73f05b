#include "ambient_library.h"

#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char text[] = "The quick brown fox jumps over the lazy dog, again and "
                     "again, until both of them are tired.";

static void *by_getline(void)
{
    FILE *const stream = fmemopen(text, sizeof text - 1, "r");
    char *line = NULL;
    size_t capacity = 0;
    if (stream == NULL || getline(&line, &capacity, stream) <= 0) {
        abort();
    }
    fclose(stream);
    return line;
}

static void *by_memstream(void)
{
    char *buffer = NULL;
    size_t length = 0;
    FILE *const stream = open_memstream(&buffer, &length);
    if (stream == NULL || fprintf(stream, "%s %d", text, 7) < 0 || fclose(stream) != 0) {
        abort();
    }
    return buffer;
}

static void *by_asprintf(void)
{
    char *made = NULL;
    if (asprintf(&made, "%s, %d times", text, 7) < 0) {
        abort();
    }
    return made;
}

static void *by_posix_memalign(size_t size)
{
    void *p = NULL;
    if (posix_memalign(&p, 128, size) != 0) {
        abort();
    }
    return p;
}

void *library_allocate(size_t way, size_t size)
{
    switch (way) {
    case 0:
        return malloc(size);
    case 1:
        return calloc(2, size);
    case 2:
        return realloc(NULL, size);
    case 3:
        return realloc(malloc(size / 2 + 1), size);
    case 4:
        return reallocarray(NULL, 3, size);
    case 5:
        return aligned_alloc(64, (size + 63) / 64 * 64);
    case 6:
        return by_posix_memalign(size);
    case 7:
        return memalign(256, size);
    case 8:
        return valloc(size);
    case 9:
        return strdup(text);
    case 10:
        return strndup(text, 20);
    case 11:
        return by_getline();
    case 12:
        return by_asprintf();
    case 13:
        return by_memstream();
    case 14:
        return realpath("/", NULL);
    case 15:
        return getcwd(NULL, 0);
    default:
        return NULL;
    }
}

struct entry {
    struct entry *next;
    char *text;
};

static struct entry *entries;
static size_t count;

void library_remember(const char *remembered)
{
    struct entry *const entry = malloc(sizeof *entry);
    if (entry == NULL) {
        abort();
    }
    entry->text = strdup(remembered);
    entry->next = entries;
    entries = entry;
    count++;
}

size_t library_count(void)
{
    return count;
}

const char *library_recall(size_t i)
{
    const struct entry *entry = entries;
    for (; i > 0; i--) {
        entry = entry->next;
    }
    return entry->text;
}

void library_forget(void)
{
    while (entries != NULL) {
        struct entry *const next = entries->next;
        free(entries->text);
        free(entries);
        entries = next;
    }
    count = 0;
}
