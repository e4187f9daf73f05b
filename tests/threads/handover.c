/* Memory that is allocated by one thread and freed by another, while the first lives and after it is gone. */
#include "check.h"

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>

/* A bounded queue of one producer and one consumer. */
enum { queue_length = 256 };
struct queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    void *items[queue_length];
    size_t first, count;
};

static void queue_put(struct queue *queue, void *item)
{
    pthread_mutex_lock(&queue->lock);
    while (queue->count == queue_length)
        pthread_cond_wait(&queue->changed, &queue->lock);
    queue->items[(queue->first + queue->count++) % queue_length] = item;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}

static void *queue_take(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    while (queue->count == 0)
        pthread_cond_wait(&queue->changed, &queue->lock);
    void *item = queue->items[queue->first];
    queue->first = (queue->first + 1) % queue_length;
    queue->count--;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
    return item;
}

/* A message says itself how large it is and what it holds. */
struct message {
    size_t size;
    uint64_t seed;
    size_t hops;
};

static struct message *message_new(uint64_t *random)
{
    uint64_t value = random_next(random);
    size_t size = sizeof(struct message) + (value % 16 == 0 ? value / 16 % 40000 : value / 16 % 500);
    struct message *message = malloc(size);
    CHECK(message != NULL);
    *message = (struct message){ size, value, 0 };
    pattern_fill(message + 1, size - sizeof *message, value);
    return message;
}

static void message_verify(const struct message *message)
{
    CHECK_SAY(pattern_holds(message + 1, message->size - sizeof *message, message->seed),
              "a message of %zu bytes is spoilt", message->size);
}

/* --- A ring: every thread makes messages; they travel on, now and then resized, and are freed far from home. --- */

enum { ring_size = 6, hop_limit = 3, ring_messages = 40000 };
static struct queue ring[ring_size];

static void *ring_station(void *argument)
{
    size_t self = (size_t)(uintptr_t)argument;
    uint64_t random = self * 999 + 5;
    struct queue *in = &ring[self], *out = &ring[(self + 1) % ring_size];
    /* As many messages are always under way as were put in at the start, so no station waits for ever. */
    for (size_t i = 0; i < queue_length / 2; i++)
        queue_put(out, message_new(&random));
    for (size_t i = 0; i < ring_messages; i++) {
        struct message *message = queue_take(in);
        message_verify(message);
        if (++message->hops >= hop_limit) {
            free(message);
            message = message_new(&random);
        } else if (random_next(&random) % 8 == 0) {
            size_t body = message->size - sizeof *message, grown = body + random % 1000;
            message = realloc(message, sizeof *message + grown);
            CHECK(message != NULL && pattern_holds(message + 1, body, message->seed));
            message->size = sizeof *message + grown;
            pattern_fill(message + 1, grown, message->seed);
        }
        queue_put(out, message);
    }
    return NULL;
}

static void test_ring(void)
{
    pthread_t threads[ring_size];
    for (size_t i = 0; i < ring_size; i++) {
        pthread_mutex_init(&ring[i].lock, NULL);
        pthread_cond_init(&ring[i].changed, NULL);
    }
    for (size_t i = 0; i < ring_size; i++)
        CHECK(pthread_create(&threads[i], NULL, ring_station, (void *)(uintptr_t)i) == 0);
    for (size_t i = 0; i < ring_size; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < ring_size; i++)
        while (ring[i].count > 0) {
            struct message *message = queue_take(&ring[i]);
            message_verify(message);
            free(message);
        }
}

/* --- The makers are gone before their memory is freed, by several threads that never allocate. --- */

enum { makers = 4, per_maker = 5000 };
static struct message *legacy[makers][per_maker];
static atomic_size_t next_to_free;

static void *make(void *argument)
{
    size_t self = (size_t)(uintptr_t)argument;
    uint64_t random = self + 17;
    for (size_t i = 0; i < per_maker; i++)
        legacy[self][i] = message_new(&random);
    return NULL;
}

static void *only_free(void *unused)
{
    (void)unused;
    for (size_t i; (i = atomic_fetch_add(&next_to_free, 1)) < makers * per_maker;) {
        struct message *message = legacy[i % makers][i / makers];
        message_verify(message);
        free(message);
    }
    return NULL;
}

/* Without what waits for reuse, of which it depends on the clock how much there is. */
static size_t resident_trimmed_kib(void)
{
    (void)malloc_trim(0);
    return resident_kib();
}

static void test_legacy(void)
{
    size_t settled = 0;
    for (int round = 0; round < 30; round++) {
        pthread_t threads[makers];
        for (size_t i = 0; i < makers; i++)
            CHECK(pthread_create(&threads[i], NULL, make, (void *)(uintptr_t)i) == 0);
        for (size_t i = 0; i < makers; i++)
            pthread_join(threads[i], NULL);
        next_to_free = 0;
        for (size_t i = 0; i < 2; i++)
            CHECK(pthread_create(&threads[i], NULL, only_free, NULL) == 0);
        for (size_t i = 0; i < 2; i++)
            pthread_join(threads[i], NULL);
        if (round == 9)
            settled = resident_trimmed_kib();
    }
    size_t grown = resident_trimmed_kib() - settled;
    CHECK_SAY((ptrdiff_t)grown < 4 * 1024, "grown by %zu KiB in twenty rounds of the same work", grown);
}

/* --- One thread allocates for ever, another only frees: what comes back must be found again. --- */

enum { one_way_messages = 400000 };
static struct queue one_way = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static void *one_way_consumer(void *unused)
{
    (void)unused;
    struct message *message;
    while ((message = queue_take(&one_way)) != NULL) {
        message_verify(message);
        free(message);
    }
    return NULL;
}

static void test_one_way(void)
{
    pthread_t consumer;
    CHECK(pthread_create(&consumer, NULL, one_way_consumer, NULL) == 0);
    uint64_t random = 99;
    size_t settled = 0;
    for (size_t i = 0; i < one_way_messages; i++) {
        queue_put(&one_way, message_new(&random));
        if (i == one_way_messages / 4)
            settled = resident_kib();
    }
    queue_put(&one_way, NULL);
    pthread_join(consumer, NULL);
    size_t grown = resident_kib() - settled;
    CHECK_SAY((ptrdiff_t)grown < 16 * 1024, "grown by %zu KiB while the same few were live", grown);
}

int main(void)
{
    test_ring();
    test_legacy();
    test_one_way();
    return 0;
}
