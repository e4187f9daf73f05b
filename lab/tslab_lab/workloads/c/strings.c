// strings: many texts that grow by appending a few bytes at a time, as text builders let them: when there is no room,
// the room grows by a share of itself (none: just what is needed). A text that is long enough is checked and freed, and
// another begins. An operation is one append.

#include "pattern.h"

enum { PIECE_MOST = 64 };

typedef struct {
    unsigned char *bytes; // none yet: empty
    uint32_t length;
    uint32_t room;
    uint32_t end; // the length at which it is done
    uint32_t serial;
} text;

#define PARAMETERS(X)                                                                                                  \
    X(operations, 0, ANY)                                                                                              \
    X(text_count, 1, ANY)                                                                                              \
    X(length_most, PIECE_MOST, 1 << 26)                                                                                \
    X(growth_percent, 0, 1000)
PARAMETERS(PARAMETER_VARIABLE)

static actor a;
static text *texts;

static inline unsigned char byte_of(const text *t, uint32_t at)
{
    return (unsigned char)(t->serial * 31 + at * 7 + (at >> 8));
}

static void text_begin(text *t)
{
    uint32_t end = low_between(random_next(&a), PIECE_MOST, length_most);
    *t = (text){ .end = end, .serial = (uint32_t)++a.serial };
}

static void text_room(text *t, uint32_t needed)
{
    if (needed <= t->room) {
        return;
    }
    uint32_t grown = (uint32_t)(t->room + (uint64_t)t->room * growth_percent / 100);
    uint32_t room = grown > needed ? grown : needed;
    t->bytes = t->bytes == NULL ? timed_malloc(&a, room) : timed_realloc(&a, t->bytes, room);
    live_add(&a, (int64_t)room - t->room);
    t->room = room;
}

// Every byte is counted when it is written, and again, from memory, when the text is freed.
static void text_drop(text *t)
{
    uint64_t sum = 0;
    int good = 1;
    for (uint32_t i = 0; i < t->length; i++) {
        good &= t->bytes[i] == byte_of(t, i);
        sum += t->bytes[i];
    }
    if (!good) {
        fail("an object was damaged while it was alive");
    }
    a.freed += sum;
    live_add(&a, -(int64_t)t->room);
    if (t->bytes != NULL) {
        timed_free(&a, t->bytes);
    }
}

static void append(uint64_t times)
{
    for (uint64_t i = 0; i < times; i++) {
        uint64_t random = random_next(&a);
        text *t = &texts[high_below(random, text_count)];
        if (t->length >= t->end) {
            text_drop(t);
            text_begin(t);
        }
        uint32_t piece = low_between(random, 1, PIECE_MOST);
        text_room(t, t->length + piece);
        uint64_t sum = 0;
        for (uint32_t at = t->length; at < t->length + piece; at++) {
            t->bytes[at] = byte_of(t, at);
            sum += byte_of(t, at);
        }
        a.made += sum;
        t->length += piece;
    }
}

int main(int count, char **words)
{
    parameters_read(count, words, (parameter[]){ PARAMETERS(PARAMETER_ROW){ 0 } });
    actor_init(&a, 0);
    texts = table_map(text_count * sizeof *texts);
    for (uint32_t i = 0; i < text_count; i++) {
        text_begin(&texts[i]);
    }
    base_measure();
    append(operations / 5);
    live_sample(&a, 1);
    double start = cpu_begin();
    append(operations);
    double seconds = cpu_end(start);
    live_sample(&a, 1);
    for (uint32_t i = 0; i < text_count; i++) {
        text_drop(&texts[i]);
    }
    report(operations, seconds, &a, 1, NULL, 0);
    return 0;
}
