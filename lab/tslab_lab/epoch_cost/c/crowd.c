// Many requests under way at once, each with 225 objects of 16 to 448 bytes, all written: what the process weighs more
// than before, against the bytes that were asked for. They allocate in turns, a slice of their objects at a time.
//
//   epochs    each in an epoch of its own, plain malloc inside
//   malloc    plain malloc, on any allocator

#include "object.h"

enum { OBJECTS = 225, SLICE = 45, SIZE_MOST = 448 };

struct request {
    struct object *objects;
    tslab_epoch epoch;
};

static struct request *requests; // mapped: no part of what is measured
static uint64_t request_count;
static uint64_t asked_bytes;
static bool with_epochs;

static void allocate_slice(struct request *request, uint64_t *random)
{
    for (unsigned i = 0; i < SLICE; i++) {
        const uint32_t size = random_between(random, OBJECT_LEAST, SIZE_MOST);
        struct object *object = object_fill(malloc(size), size, size * UINT32_C(0x9E3779B9));
        object->next = request->objects;
        request->objects = object;
        asked_bytes += size;
    }
}

static void allocate_all(void)
{
    uint64_t random = 1;
    for (uint64_t i = 0; with_epochs && i < request_count; i++) {
        requests[i].epoch = open_epoch(TSLAB_POLICY_DRAIN, 0);
    }
    for (unsigned made = 0; made < OBJECTS; made += SLICE) {
        for (uint64_t i = 0; i < request_count; i++) {
            if (with_epochs) {
                enter_epoch(requests[i].epoch, TSLAB_OK);
            }
            allocate_slice(&requests[i], &random);
            if (with_epochs) {
                leave_epoch(requests[i].epoch);
            }
        }
    }
}

static void end_all(void)
{
    for (uint64_t i = 0; i < request_count; i++) {
        for (struct object *object = requests[i].objects, *next; object != NULL; object = next) {
            next = object->next;
            object_check(object, object->size, object->size * UINT32_C(0x9E3779B9));
            free(object);
        }
        if (with_epochs) {
            close_epoch(requests[i].epoch, 0);
        }
    }
}

int main(int count, char **words)
{
    request_count = amount_of(count, words);
    with_epochs = strcmp(words[1], "epochs") == 0;
    if (with_epochs) {
        require_epochs(program_name);
    }
    requests = table_map(request_count * sizeof *requests);
    const int64_t before = self_rss_kib();
    allocate_all();
    const int64_t grown = self_rss_kib() - before;
    end_all();
    printf("{\"requests\": %llu, \"asked_bytes\": %llu, \"grown_kib\": %lld, \"left_kib\": %lld}\n",
           (unsigned long long)request_count, (unsigned long long)asked_bytes, (long long)grown,
           (long long)(self_rss_kib() - before));
    return 0;
}
