// large: a few large blocks that grow by realloc step by step, and are freed and allocated anew. Every so many-th page
// of a block is written at both ends when it comes into being, and looked at whenever the block has grown or is freed.

#include "pattern.h"

enum { PAGE = 4096 };

typedef struct {
    unsigned char *start; // none: the place is free
    uint64_t bytes;
    uint64_t serial;
} block;

#define PARAMETERS(X)                                                                                                  \
    X(operations, 0, ANY)                                                                                              \
    X(live_count, 1, 10000)                                                                                            \
    X(least_kib, 8, 1048576)                                                                                           \
    X(most_kib, 8, 1048576)                                                                                            \
    X(touch, 1, 1048576)
PARAMETERS(PARAMETER_VARIABLE)

static actor a;
static uint64_t least;
static uint64_t most;
static uint64_t stride; // bytes between two pages that are written

static uint64_t mark_of(const block *b, uint64_t offset)
{
    return tail_of(b->serial << 32 ^ offset);
}

static uint64_t word_at(const block *b, uint64_t offset)
{
    uint64_t word;
    memcpy(&word, b->start + offset, sizeof word);
    return word;
}

static void word_write(block *b, uint64_t offset)
{
    uint64_t mark = mark_of(b, offset);
    memcpy(b->start + offset, &mark, sizeof mark);
}

// Sizes are whole pages.
static void pages_write(block *b, uint64_t from)
{
    for (uint64_t page = (from + stride - 1) / stride * stride; page < b->bytes; page += stride) {
        word_write(b, page);
        word_write(b, page + PAGE - sizeof(uint64_t));
    }
    word_write(b, b->bytes - sizeof(uint64_t));
}

static void pages_check(const block *b, uint64_t bytes)
{
    int good = word_at(b, bytes - sizeof(uint64_t)) == mark_of(b, bytes - sizeof(uint64_t));
    for (uint64_t page = 0; good && page < bytes; page += stride) {
        uint64_t last = page + PAGE - sizeof(uint64_t);
        good = word_at(b, page) == mark_of(b, page) && word_at(b, last) == mark_of(b, last);
    }
    if (!good) {
        fail("an object was damaged while it was alive");
    }
}

// As many of each order of magnitude.
static uint64_t size_next(void)
{
    uint64_t size = least;
    uint64_t random = random_next(&a);
    for (unsigned doublings = 0; size * 2 <= most / 4 && (random >> doublings & 3) != 0; doublings += 2) {
        size *= 2;
    }
    size += size * high_below(random, 1024) / 1024;
    return size < most ? size / PAGE * PAGE : most;
}

static void count_made(const block *b)
{
    a.made += tail_of(b->serial ^ b->bytes);
    live_add(&a, (int64_t)b->bytes);
    live_sample(&a, 1);
}

static void count_freed(const block *b)
{
    a.freed += tail_of(b->serial ^ b->bytes);
    live_add(&a, -(int64_t)b->bytes);
}

static void block_make(block *b)
{
    *b = (block){ .bytes = size_next(), .serial = ++a.serial };
    b->start = timed_malloc(&a, b->bytes);
    pages_write(b, 0);
    count_made(b);
}

static void block_grow(block *b)
{
    count_freed(b);
    uint64_t old = b->bytes;
    uint64_t more = old / 4 + old * high_below(random_next(&a), 768) / 1024;
    b->bytes = old + more / PAGE * PAGE < most ? old + more / PAGE * PAGE : most;
    b->start = timed_realloc(&a, b->start, b->bytes);
    pages_check(b, old);
    pages_write(b, old);
    count_made(b);
}

static void block_drop(block *b)
{
    pages_check(b, b->bytes);
    count_freed(b);
    timed_free(&a, b->start);
    b->start = NULL;
}

// Two of three times a block that is there grows, if it may.
static void step(block *blocks, uint64_t times)
{
    for (uint64_t i = 0; i < times; i++) {
        uint64_t random = random_next(&a);
        block *b = &blocks[high_below(random, live_count)];
        if (b->start == NULL) {
            block_make(b);
        } else if (b->bytes < most && random % 3 != 0) {
            block_grow(b);
        } else {
            block_drop(b);
        }
    }
}

int main(int count, char **words)
{
    parameters_read(count, words, (parameter[]){ PARAMETERS(PARAMETER_ROW){ 0 } });
    require(least_kib <= most_kib && least_kib % 4 == 0 && most_kib % 4 == 0, "blocks must be of whole pages of 4 KiB");
    least = (uint64_t)least_kib * 1024;
    most = (uint64_t)most_kib * 1024;
    stride = (uint64_t)touch * PAGE;
    actor_init(&a, 0);
    block *blocks = table_map(live_count * sizeof *blocks);
    base_measure();
    step(blocks, (uint64_t)operations / 10 + live_count);
    double start = cpu_begin();
    step(blocks, operations);
    double seconds = cpu_end(start);
    for (uint32_t i = 0; i < live_count; i++) {
        if (blocks[i].start != NULL) {
            block_drop(&blocks[i]);
        }
    }
    report(operations, seconds, &a, 1, NULL, 0);
    return 0;
}
