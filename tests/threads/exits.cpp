// Thousands of threads that come and go. Each leaves behind destructors, of pthread keys and of C++ thread_local
// objects, that allocate and free when the thread is nearly gone. Memory must not grow with the number of threads that
// ever were.
#include "check.h"

#include <climits>
#include <cstring>
#include <memory>
#include <pthread.h>
#include <string>
#include <vector>

namespace
{

// A leak of one page for each thread would be 18 MiB; what caches and the purger hold at one moment varies by one or
// two.
constexpr int thread_count = 5000, settled_after = 500, at_once = 8, key_count = 3, allowed_kib = 4096;
pthread_key_t keys[key_count], last_key;
char rounds[PTHREAD_DESTRUCTOR_ITERATIONS]; // that a thread's destructors run in

// Runs late, in the order of the keys, and asks for one more round the first time.
void destroy_value(void *value)
{
    auto *number = static_cast<size_t *>(value);
    for (size_t size = 8; size < 20000; size += 8 + size / 3) {
        void *block = keep(std::malloc(size));
        std::memset(block, 2, size);
        std::free(block);
    }
    CHECK(number[0] < key_count);
    if (number[1]++ == 0) {
        void *moved = std::realloc(value, 500);
        CHECK(pthread_setspecific(keys[static_cast<size_t *>(moved)[0]], moved) == 0);
        return;
    }
    std::free(value);
}

// Asks for more rounds until it is in the last one that there is, or that the value says, and uses the heap in all.
void allocate_at_last(void *value)
{
    if (value != &rounds[COUNT_OF(rounds) - 1])
        CHECK(pthread_setspecific(last_key, static_cast<char *>(value) + 1) == 0);
    for (size_t size = 8; size < 100000; size *= 2)
        std::free(std::memset(keep(std::malloc(size)), 3, size));
}

struct Late {
    std::vector<std::string> texts;
    void *block = nullptr;
    ~Late()
    {
        CHECK(texts.size() == 20 && texts[19].size() == 190);
        std::vector<std::unique_ptr<std::string>> more;
        for (int i = 0; i < 50; i++)
            more.push_back(std::make_unique<std::string>(static_cast<size_t>(i) * 40, 'x'));
        std::free(block);
    }
};
thread_local Late late;
thread_local std::string another = "a thread_local string that is too long to stay inside its object";

// The result is a block that outlives its thread; main frees it.
void *run(void *)
{
    uint64_t random = reinterpret_cast<uintptr_t>(&random) | 1;
    void *blocks[100];
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        size_t size = random_next(&random) % (i % 10 == 0 ? 60000 : 1000);
        blocks[i] = std::malloc(size);
        pattern_fill(blocks[i], size < 64 ? size : 64, i);
    }
    for (void *block : blocks)
        std::free(block);
    late.block = std::malloc(3000);
    for (size_t i = 0; i < 20; i++)
        late.texts.push_back(std::string(i * 10, 'y'));
    another += another;
    for (size_t i = 0; i < key_count; i++) {
        auto *value = static_cast<size_t *>(std::calloc(i + 2, sizeof(size_t)));
        value[0] = i;
        CHECK(pthread_setspecific(keys[i], value) == 0);
    }
    void *result = std::malloc(256);
    pattern_fill(result, 256, 42);
    return result;
}

// Uses the heap for the first time when the thread is nearly gone.
void *run_idly(void *first_round)
{
    CHECK(pthread_setspecific(last_key, first_round) == 0);
    return nullptr;
}

void start(pthread_t *thread, int number)
{
    bool idle = number % 5 < 2;
    size_t rounds_first = number % 5 == 0 ? COUNT_OF(rounds) - 1 : static_cast<size_t>(number) % COUNT_OF(rounds);
    CHECK(pthread_create(thread, nullptr, idle ? run_idly : run, &rounds[rounds_first]) == 0);
}

void join(pthread_t thread)
{
    void *result = nullptr;
    CHECK(pthread_join(thread, &result) == 0);
    if (result == nullptr)
        return;
    CHECK(pattern_holds(result, 256, 42));
    std::free(result);
}

// When all are gone, so that nothing depends on what some have in hand.
size_t resident_after(int threads_in_all)
{
    static int started;
    pthread_t threads[at_once];
    for (int n = 0; started + n < threads_in_all + at_once; n++) {
        if (n >= at_once)
            join(threads[n % at_once]);
        if (started + n < threads_in_all)
            start(&threads[n % at_once], started + n);
    }
    started = threads_in_all;
    return resident_kib();
}

} // namespace

int main()
{
    for (auto &key : keys)
        CHECK(pthread_key_create(&key, destroy_value) == 0);
    CHECK(pthread_key_create(&last_key, allocate_at_last) == 0);
    // On a busy machine more threads may be alive at once than ever before, and each needs a heap. A leak always grows.
    enum { windows = 3 };
    size_t before = resident_after(settled_after), grown = 0;
    for (int window = 1; window <= windows; window++) {
        size_t now = resident_after(settled_after + window * (thread_count - settled_after));
        grown = now - before;
        printf("%zu KiB, %zd KiB more in window %d\n", before, static_cast<ptrdiff_t>(grown), window);
        if (static_cast<ptrdiff_t>(grown) <= allowed_kib)
            return 0;
        before = now;
    }
    CHECK_SAY(false, "grown by %zu KiB with the number of threads, again and again", grown);
    return 0;
}
