// buffers: generation after generation, buffers are replaced by larger ones, as many MiB of them, one after another; a
// few of each generation stay to the end, at random. Every byte is written. A second thread is there, as in a server,
// and waits. RSS at the end is with those that stayed.

#include "pattern.h"

#define PARAMETERS(X)                                                                                                  \
    X(generations, 1, 100)                                                                                             \
    X(mib, 1, 4096)                                                                                                    \
    X(first_bytes, SIZE_LEAST, SIZE_MOST)                                                                              \
    X(growth_percent, 0, 100)                                                                                          \
    X(kept_percent, 0, 100)
PARAMETERS(PARAMETER_VARIABLE)

static actor a;
static void **live[2]; // the generation before, and this one
static void **kept;
static size_t kept_count;
static pthread_mutex_t until_the_end = PTHREAD_MUTEX_INITIALIZER;

static void *wait_for_the_end(void *nothing)
{
    pthread_mutex_lock(&until_the_end);
    pthread_mutex_unlock(&until_the_end);
    return nothing;
}

static void *buffer_make(uint32_t size)
{
    unsigned char *buffer = object_make(&a, size);
    memset(buffer + sizeof(uint64_t), (int)(a.serial & 255), size - 2 * sizeof(uint64_t));
    return buffer;
}

static void retire(void *buffer)
{
    if (high_below(random_next(&a), 100) < kept_percent) {
        kept[kept_count++] = buffer;
    } else {
        object_drop(&a, buffer);
    }
}

// Old ones go as room for new ones is needed.
static size_t replace_all(size_t old_count, uint32_t old_size, size_t new_count, uint32_t new_size)
{
    size_t gone = 0;
    for (size_t i = 0; i < new_count; i++) {
        for (; gone < old_count && gone * old_size < (i + 1) * (uint64_t)new_size; gone++) {
            retire(live[0][gone]);
        }
        live[1][i] = buffer_make(new_size);
    }
    while (gone < old_count) {
        retire(live[0][gone++]);
    }
    live_sample(&a, 1);
    void **old = live[0];
    live[0] = live[1];
    live[1] = old;
    return new_count;
}

int main(int count, char **words)
{
    parameters_read(count, words, (parameter[]){ PARAMETERS(PARAMETER_ROW){ 0 } });
    uint64_t bytes = (uint64_t)mib << 20;
    size_t most = bytes / first_bytes;
    actor_init(&a, 0);
    live[0] = table_map(most * sizeof *live[0]);
    live[1] = table_map(most * sizeof *live[1]);
    kept = table_map((most * generations + 1) * sizeof *kept);
    pthread_mutex_lock(&until_the_end);
    threads_start(&a, 1, wait_for_the_end);
    base_measure();
    double start = cpu_begin();
    size_t now = 0;
    uint64_t operations = 0;
    uint32_t before = 0;
    uint32_t size = first_bytes;
    for (uint32_t generation = 0; generation < generations; generation++) {
        now = replace_all(now, before, bytes / size, size);
        operations += now;
        before = size;
        size += size * growth_percent / 100;
        require(size <= SIZE_MOST, "buffers must not grow beyond 1048576 bytes");
    }
    for (size_t i = 0; i < now; i++) {
        retire(live[0][i]);
    }
    double seconds = cpu_end(start);
    rss_measure();
    fact facts[] = { { "kept", (double)kept_count }, { "kept_kib", (double)a.live_bytes / 1024 } };
    for (size_t i = 0; i < kept_count; i++) {
        object_drop(&a, kept[i]);
    }
    pthread_mutex_unlock(&until_the_end);
    threads_join(&a, 1);
    report(operations, seconds, &a, 1, facts, 2);
    return 0;
}
