// Objects that can be checked: every one says how many bytes it has and what they add up to, and is looked at once more
// when it is dropped. All memory comes from malloc and realloc and goes back by free, whatever they are.

#ifndef OBJECT_H
#define OBJECT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// What the objects of one request come to; a thread keeps its own.
struct tally {
    uint64_t made;
    uint64_t dropped;
    uint64_t bytes; // asked for
};

extern _Thread_local struct tally tally;

_Noreturn static inline void fail(const char *what)
{
    fprintf(stderr, "server: %s\n", what);
    abort();
}

static inline void *object_make(size_t size)
{
    void *object = malloc(size);
    if (object == NULL) {
        fail("malloc returned NULL");
    }
    tally.made++;
    tally.bytes += size;
    return object;
}

static inline void object_drop(void *object)
{
    tally.dropped += object != NULL;
    free(object);
}

// The sum is plain so that the compiler makes a few instructions of it: the payload is to be touched, not to cost more
// than the memory that it lies in.
static inline uint32_t sum_of(const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    uint32_t sum = (uint32_t)length;
    size_t i = 0;
    for (; i + sizeof sum <= length; i += sizeof sum) {
        uint32_t word;
        memcpy(&word, at + i, sizeof word);
        sum += word;
    }
    for (; i < length; i++) {
        sum += (uint32_t)at[i] << (i % sizeof sum * 8);
    }
    return sum;
}

static inline void sum_check(const void *bytes, size_t length, uint32_t sum)
{
    if (sum_of(bytes, length) != sum) {
        fail("an object was damaged while it was alive");
    }
}

// A string.
struct text {
    uint32_t length;
    uint32_t sum;
    char bytes[]; // and a final zero
};

static inline struct text *text_make(const char *bytes, size_t length)
{
    struct text *text = object_make(sizeof *text + length + 1);
    memcpy(text->bytes, bytes, length);
    text->bytes[length] = '\0';
    text->length = (uint32_t)length;
    text->sum = sum_of(text->bytes, length);
    return text;
}

static inline void text_check(const struct text *text)
{
    sum_check(text->bytes, text->length, text->sum);
}

static inline void text_drop(struct text *text)
{
    if (text != NULL) {
        text_check(text);
        object_drop(text);
    }
}

// A block of data, as from a store, in a list of such.
struct row {
    struct row *next;
    uint32_t length;
    uint32_t sum;
    unsigned char bytes[];
};

// `size` is what is allocated, the row's own fields included.
static inline struct row *row_make(size_t size, uint32_t seed)
{
    struct row *row = object_make(size);
    row->next = NULL;
    row->length = (uint32_t)(size - sizeof *row);
    const uint32_t words = row->length / sizeof seed;
    for (uint32_t i = 0; i < words; i++) {
        uint32_t word = seed + i * UINT32_C(0x9E3779B9);
        memcpy(row->bytes + i * sizeof word, &word, sizeof word);
    }
    for (uint32_t i = words * (uint32_t)sizeof seed; i < row->length; i++) {
        row->bytes[i] = (unsigned char)seed;
    }
    row->sum = sum_of(row->bytes, row->length);
    return row;
}

static inline void row_check(const struct row *row)
{
    sum_check(row->bytes, row->length, row->sum);
}

static inline void rows_drop(struct row *row)
{
    while (row != NULL) {
        struct row *next = row->next;
        row_check(row);
        object_drop(row);
        row = next;
    }
}

// Random numbers from a seed, which they change.
static inline uint64_t random_next(uint64_t *state)
{
    uint64_t x = *state += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

static inline uint32_t random_below(uint64_t *state, uint32_t bound)
{
    return (uint32_t)(((random_next(state) >> 32) * bound) >> 32);
}

#endif
