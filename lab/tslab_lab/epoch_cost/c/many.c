// Many epochs:
//
//   turnover  opened and closed, with a few objects each, some of which are freed only after the close; a crowd of them
//             is open at any time. What the process weighs at the end, more than when a hundredth was done
//   open      all open at once, without any object: what one weighs

#include "object.h"

enum { CROWD = 64, OBJECTS = 4, SIZE_MOST = 448, SHARE = 100 };

struct place {
    tslab_epoch epoch;
    struct object *objects[OBJECTS];
    bool dies;
};

static struct place crowd[CROWD];

static void free_checked(struct object *object, uint32_t mark)
{
    object_check(object, object->size, mark);
    free(object);
}

static void begin(struct place *place, uint32_t serial, uint64_t *random)
{
    place->dies = serial % 2 == 0;
    place->epoch =
        open_epoch(place->dies ? TSLAB_POLICY_RELEASE : TSLAB_POLICY_DRAIN, place->dies ? TSLAB_OPEN_VOUCHED : 0);
    enter_epoch(place->epoch, TSLAB_OK);
    for (unsigned i = 0; i < OBJECTS; i++) {
        const uint32_t size = random_between(random, OBJECT_LEAST, SIZE_MOST);
        place->objects[i] = object_fill(malloc(size), size, serial);
    }
    leave_epoch(place->epoch);
}

static void end(struct place *place, uint32_t serial)
{
    if (!place->dies) {
        free_checked(place->objects[0], serial);
        free_checked(place->objects[1], serial);
    }
    close_epoch(place->epoch, 0);
    if (!place->dies) {
        free_checked(place->objects[2], serial);
        free_checked(place->objects[3], serial);
    }
    place->epoch = (tslab_epoch){ 0 };
}

// Which of the crowd ends next is random: an epoch may live for a moment or for long.
static void turn_over(uint64_t count)
{
    static uint32_t serials[CROWD];
    uint64_t random = 1;
    int64_t before = 0;
    for (uint64_t i = 0; i < count; i++) {
        const unsigned at = random_between(&random, 0, CROWD - 1);
        if (crowd[at].epoch.id != 0) {
            end(&crowd[at], serials[at]);
        }
        serials[at] = (uint32_t)i;
        begin(&crowd[at], serials[at], &random);
        if (i == count / SHARE) {
            before = self_rss_kib();
        }
    }
    printf("{\"epochs\": %llu, \"grown_kib\": %lld}\n", (unsigned long long)count,
           (long long)(self_rss_kib() - before));
}

static void open_all(uint64_t count)
{
    tslab_epoch *epochs = table_map(count * sizeof *epochs);
    close_epoch(open_epoch(TSLAB_POLICY_DRAIN, 0), 0); // what the library needs in any case is there
    const int64_t before = self_rss_kib();
    for (uint64_t i = 0; i < count; i++) {
        epochs[i] = open_epoch(TSLAB_POLICY_DRAIN, 0);
    }
    const int64_t grown = self_rss_kib() - before;
    for (uint64_t i = 0; i < count; i++) {
        close_epoch(epochs[i], 0);
    }
    printf("{\"epochs\": %llu, \"grown_kib\": %lld}\n", (unsigned long long)count, (long long)grown);
}

int main(int count, char **words)
{
    const uint64_t epochs = amount_of(count, words);
    require_epochs(program_name);
    if (strcmp(words[1], "turnover") == 0) {
        turn_over(epochs);
    } else {
        open_all(epochs);
    }
    return 0;
}
