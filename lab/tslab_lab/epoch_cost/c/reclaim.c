// Closes a large epoch (objects of 16 to 2,048 bytes, all written) with reclaim: how much of what it weighed is gone
// when that returns, and how long it took.
//
//   release   the policy is TSLAB_POLICY_RELEASE, explicit calls, nothing is freed
//   drain     the policy is TSLAB_POLICY_DRAIN, plain malloc, everything was freed before, in random order

#include "object.h"

enum { SIZE_MOST = 2048 };

static struct object **objects; // mapped: no part of what is measured
static uint64_t object_count;

static void allocate_all(tslab_epoch epoch, bool releases, uint64_t wanted_bytes)
{
    uint64_t random = 1;
    for (uint64_t bytes = 0; bytes < wanted_bytes; object_count++) {
        const uint32_t size = random_between(&random, OBJECT_LEAST, SIZE_MOST);
        void *place = releases ? tslab_epoch_malloc(epoch, size) : malloc(size);
        objects[object_count] = object_fill(place, size, (uint32_t)object_count);
        bytes += size;
    }
}

static void check_all(bool frees)
{
    uint64_t random = 2;
    for (uint64_t i = object_count; i-- > 0;) {
        const uint32_t other = random_between(&random, 0, (uint32_t)i);
        struct object *const object = objects[other];
        objects[other] = objects[i];
        object_check(object, object->size, object->mark);
        if (frees) {
            free(object);
        }
    }
}

int main(int count, char **words)
{
    const uint64_t wanted = amount_of(count, words) << 20;
    const bool releases = strcmp(words[1], "release") == 0;
    require_epochs(program_name);
    objects = table_map(wanted / 512 * sizeof *objects); // twice as many as it takes on average
    close_epoch(open_epoch(TSLAB_POLICY_DRAIN, 0), 0);   // what the library needs in any case is there

    const int64_t before = self_rss_kib();
    const tslab_epoch epoch = open_epoch(releases ? TSLAB_POLICY_RELEASE : TSLAB_POLICY_DRAIN, 0);
    enter_epoch(epoch, releases ? TSLAB_EXPLICIT : TSLAB_OK);
    allocate_all(epoch, releases, wanted);
    leave_epoch(epoch);
    const int64_t grown = self_rss_kib() - before;
    check_all(!releases);
    const int64_t at_close = self_rss_kib() - before;
    const double began = cpu_seconds();
    close_epoch(epoch, TSLAB_CLOSE_RECLAIM);
    const double seconds = cpu_seconds() - began;
    printf("{\"objects\": %llu, \"grown_kib\": %lld, \"at_close_kib\": %lld, \"left_kib\": %lld, \"seconds\": %.9f, "
           "\"pages\": %lld}\n",
           (unsigned long long)object_count, (long long)grown, (long long)at_close,
           (long long)(self_rss_kib() - before), seconds, (long long)(grown / PAGE_KIB));
    return 0;
}
