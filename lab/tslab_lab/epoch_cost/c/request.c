// Ways to serve a request of 225 objects, and the small steps around them. The program may be linked with libtslab,
// whose epochs take no plain malloc: then `release` alone is of use.
//
//   release   an epoch that releases, explicit calls inside of it, no frees
//   vouched   an epoch that releases, plain malloc, no frees
//   drain     an epoch that drains, plain malloc, each object's first byte written, 225 frees
//   malloc    no epoch, plain malloc, each object's first byte written, 225 frees
//   empty     an epoch opened and closed
//   bracket   an epoch opened, entered, left and closed
//   enter     an open epoch entered and left

#include "request.h"

enum way { RELEASE, VOUCHED, DRAIN, MALLOC, EMPTY, BRACKET, ENTER, WAYS };

static const char *const names[WAYS] = { "release", "vouched", "drain", "malloc", "empty", "bracket", "enter" };
static tslab_epoch kept;

// Each way is compiled by itself: what is constant here costs nothing.
#define by_way static inline __attribute__((always_inline))

by_way tslab_epoch begin(const enum way way)
{
    if (way == MALLOC) {
        return (tslab_epoch){ 0 };
    }
    const bool dies = way == RELEASE || way == VOUCHED;
    const tslab_epoch epoch =
        open_epoch(dies ? TSLAB_POLICY_RELEASE : TSLAB_POLICY_DRAIN, way == VOUCHED ? TSLAB_OPEN_VOUCHED : 0);
    if (way != EMPTY) {
        enter_epoch(epoch, way == RELEASE ? TSLAB_EXPLICIT : TSLAB_OK);
    }
    return epoch;
}

by_way void end(const enum way way, tslab_epoch epoch)
{
    if (way == MALLOC) {
        return;
    }
    if (way != EMPTY) {
        leave_epoch(epoch);
    }
    close_epoch(epoch, 0);
}

by_way void allocate(const enum way way, tslab_epoch epoch)
{
    for (unsigned i = 0; i < OBJECTS; i++) {
        objects[i] = way == RELEASE ? tslab_epoch_malloc(epoch, sizes[i]) : malloc(sizes[i]);
        if (way == DRAIN || way == MALLOC) {
            *(volatile char *)objects[i] = (char)i;
        }
    }
}

by_way void drop(const enum way way)
{
    for (unsigned i = 0; (way == DRAIN || way == MALLOC) && i < OBJECTS; i++) {
        free(objects[i]);
    }
}

by_way void serve(const enum way way, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        const tslab_epoch epoch = begin(way);
        if (way != EMPTY && way != BRACKET) {
            allocate(way, epoch);
            drop(way);
        }
        end(way, epoch);
    }
}

#define SERVES(name, way)                                                                                              \
    static void name(uint64_t count)                                                                                   \
    {                                                                                                                  \
        serve(way, count);                                                                                             \
    }
SERVES(serve_release, RELEASE)
SERVES(serve_vouched, VOUCHED)
SERVES(serve_drain, DRAIN)
SERVES(serve_malloc, MALLOC)
SERVES(open_and_close, EMPTY)
SERVES(bracket, BRACKET)

static void enter_and_leave(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        enter_epoch(kept, TSLAB_OK);
        leave_epoch(kept);
    }
}

static void (*const works[WAYS])(uint64_t count) = { serve_release,  serve_vouched, serve_drain,    serve_malloc,
                                                     open_and_close, bracket,       enter_and_leave };

// One request, before any is timed: the objects are usable, and in the epoch.
static void check(enum way way)
{
    const tslab_epoch epoch = begin(way);
    allocate(way, epoch);
    objects_check(16);
    for (unsigned i = 0; way != MALLOC && i < OBJECTS; i++) {
        if (tslab_epoch_of(objects[i]).id != epoch.id) {
            fail("an object is not in the epoch");
        }
    }
    drop(way);
    end(way, epoch);
}

int main(int count, char **words)
{
    const uint64_t milliseconds = amount_of(count, words);
    enum way way = 0;
    while (way < WAYS && strcmp(words[1], names[way]) != 0) {
        way++;
    }
    if (way == WAYS) {
        fail("knows no such way");
    }
    if (way != MALLOC) {
        require_epochs(program_name);
    }
    sizes_make();
    if (way <= MALLOC) {
        check(way);
    } else if (way == ENTER) {
        kept = open_epoch(TSLAB_POLICY_DRAIN, 0);
    }
    time_work(works[way], milliseconds);
    return 0;
}
