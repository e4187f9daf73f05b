// Every form of operator new and delete, and what C++ builds on them. These checks are linked into a program of their
// own, and into a library that a plain C program opens: there, exceptions must find their way without the program's
// help.
#include "check.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <dlfcn.h>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <new>
#include <sstream>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <unordered_map>
#include <vector>

namespace
{

const std::size_t absurd[] = { static_cast<std::size_t>(PTRDIFF_MAX),
                               SIZE_MAX,
                               SIZE_MAX - 15,
                               SIZE_MAX - 4096,
                               SIZE_MAX / 2 + 1,
                               std::size_t(1) << 47,
                               std::size_t(1) << 62 };

bool is_aligned(const void *block, std::size_t alignment)
{
    return reinterpret_cast<uintptr_t>(block) % alignment == 0;
}

// libstdc++ 12 rounds the size of an aligned block up to the alignment without a look at the overflow, and gives
// memory.
bool system_gets_it_wrong(std::size_t size, std::size_t alignment)
{
    return size > SIZE_MAX - alignment && dlsym(RTLD_DEFAULT, "tslab_version") == nullptr;
}

template <typename Function> bool throws_bad_alloc(Function function)
{
    try {
        keep(function());
    } catch (const std::bad_alloc &error) {
        return std::string(error.what()).size() > 0;
    }
    return false;
}

void test_plain_forms()
{
    for (std::size_t size = 0; size < 200000; size += 1 + size / 20) {
        void *block = keep(::operator new(size));
        CHECK(block != nullptr && is_aligned(block, 16));
        std::memset(block, 1, size);
        ::operator delete(block);
        block = keep(::operator new[](size));
        CHECK(block != nullptr);
        std::memset(block, 1, size);
        ::operator delete[](block);
        block = keep(::operator new(size, std::nothrow));
        CHECK(block != nullptr);
        ::operator delete(block, std::nothrow);
        block = keep(::operator new[](size, std::nothrow));
        CHECK(block != nullptr);
        ::operator delete[](block, std::nothrow);
        ::operator delete(keep(::operator new(size)), size);
        ::operator delete[](keep(::operator new[](size)), size);
    }
    ::operator delete(nullptr);
    ::operator delete[](nullptr);
    ::operator delete(nullptr, std::size_t(8));
    ::operator delete(nullptr, std::align_val_t(64));
    ::operator delete(nullptr, std::nothrow);
    void *first = keep(::operator new(0)), *second = keep(::operator new(0));
    CHECK(first != second);
    ::operator delete(first);
    ::operator delete(second);
}

void test_aligned_forms()
{
    for (std::size_t alignment = 1; alignment <= 1 << 20; alignment *= 2)
        for (std::size_t size = 0; size < 100000; size += 1 + size / 2) {
            const auto value = std::align_val_t(alignment);
            void *blocks[] = { ::operator new(size, value),   ::operator new(size, value, std::nothrow),
                               ::operator new[](size, value), ::operator new[](size, value, std::nothrow),
                               ::operator new(size, value),   ::operator new[](size, value) };
            for (void *block : blocks) {
                CHECK(keep(block) != nullptr && is_aligned(block, alignment));
                std::memset(block, 1, size);
            }
            ::operator delete(blocks[0], value);
            ::operator delete(blocks[1], value, std::nothrow);
            ::operator delete[](blocks[2], value);
            ::operator delete[](blocks[3], value, std::nothrow);
            ::operator delete(blocks[4], size, value);
            ::operator delete[](blocks[5], size, value);
        }
    struct alignas(256) Wide {
        char bytes[300];
    };
    std::vector<std::unique_ptr<Wide>> wides;
    for (int i = 0; i < 50; i++) {
        wides.push_back(std::make_unique<Wide>());
        CHECK(is_aligned(wides.back().get(), 256));
    }
    std::unique_ptr<Wide[]> array(new Wide[7]);
    CHECK(is_aligned(array.get(), 256));
}

void test_absurd_sizes()
{
    for (std::size_t size : absurd) {
        CHECK(throws_bad_alloc([=] { return ::operator new(size); }));
        CHECK(throws_bad_alloc([=] { return ::operator new[](size); }));
        for (std::size_t alignment : { std::size_t(16), std::size_t(64), std::size_t(4096), std::size_t(1) << 20 }) {
            if (system_gets_it_wrong(size, alignment))
                continue;
            const auto value = std::align_val_t(alignment);
            CHECK(throws_bad_alloc([=] { return ::operator new(size, value); }));
            CHECK(throws_bad_alloc([=] { return ::operator new[](size, value); }));
            CHECK(keep(::operator new(size, value, std::nothrow)) == nullptr);
            CHECK(keep(::operator new[](size, value, std::nothrow)) == nullptr);
        }
        CHECK(keep(::operator new(size, std::nothrow)) == nullptr);
        CHECK(keep(::operator new[](size, std::nothrow)) == nullptr);
    }
    CHECK(throws_bad_alloc([] { return new char[unseen(SIZE_MAX / 4)]; }));
    CHECK(throws_bad_alloc([] { return new std::string(std::string().max_size() - 1, 'x'); }));
    CHECK(throws_bad_alloc([] { return new std::vector<int>(std::vector<int>().max_size() - 1); }));
}

// Unwinding out of operator new must run the destructors on its way.
void test_unwinding()
{
    int destroyed = 0;
    struct Counter {
        int &count;
        ~Counter()
        {
            count++;
        }
    };
    std::function<void(int)> descend = [&](int depth) {
        Counter counter{ destroyed };
        if (depth == 0)
            keep(::operator new(SIZE_MAX / 2));
        descend(depth - 1);
    };
    for (int i = 0; i < 100; i++)
        CHECK(throws_bad_alloc([&] {
            descend(9);
            return static_cast<void *>(nullptr);
        }));
    CHECK(destroyed == 1000);
}

int handler_calls;

// The handler is called again and again until it gives up by removing itself.
void patient_handler()
{
    if (++handler_calls == 5)
        std::set_new_handler(nullptr);
}

struct from_handler {
};
void throwing_handler()
{
    throw from_handler();
}

template <typename Function> void expect_five_calls(Function function)
{
    handler_calls = 0;
    std::set_new_handler(patient_handler);
    function();
    CHECK_SAY(handler_calls == 5, "the new handler was called %d times, not 5", handler_calls);
    CHECK(std::get_new_handler() == nullptr);
}

void test_new_handler()
{
    const std::size_t size = SIZE_MAX / 2;
    const auto value = std::align_val_t(64);
    expect_five_calls([=] { CHECK(throws_bad_alloc([=] { return ::operator new(size); })); });
    expect_five_calls([=] { CHECK(throws_bad_alloc([=] { return ::operator new[](size); })); });
    expect_five_calls([=] { CHECK(throws_bad_alloc([=] { return ::operator new(size, value); })); });
    expect_five_calls([=] { CHECK(keep(::operator new(size, std::nothrow)) == nullptr); });
    expect_five_calls([=] { CHECK(keep(::operator new[](size, std::nothrow)) == nullptr); });
    expect_five_calls([=] { CHECK(keep(::operator new(size, value, std::nothrow)) == nullptr); });

    std::set_new_handler(throwing_handler);
    bool caught = false;
    try {
        keep(::operator new(size));
    } catch (const from_handler &) {
        caught = true;
    }
    CHECK(caught);
    std::set_new_handler(nullptr);
}

// A handler that helps: what was refused is granted at the next try.
struct rlimit data_before;
void helping_handler()
{
    handler_calls++;
    CHECK(setrlimit(RLIMIT_DATA, &data_before) == 0);
}

template <typename Function> void *expect_help(Function allocate)
{
    CHECK(getrlimit(RLIMIT_DATA, &data_before) == 0);
    const rlimit little = { 1 << 20, data_before.rlim_max };
    CHECK(setrlimit(RLIMIT_DATA, &little) == 0);
    handler_calls = 0;
    std::set_new_handler(helping_handler);
    void *const block = keep(allocate());
    std::set_new_handler(nullptr);
    CHECK_SAY(handler_calls == 1 && block != nullptr, "the new handler was called %d times, and %p was granted",
              handler_calls, block);
    return block;
}

void test_new_handler_that_helps()
{
    const std::size_t size = std::size_t(1) << 28;
    const auto value = std::align_val_t(64);
    static bool done; // what was once granted is granted again without help
    if (done)
        return;
    done = true;
    // All are kept, for the next one would get what was given back.
    void *const blocks[] = {
        expect_help([=] { return ::operator new(size); }),
        expect_help([=] { return ::operator new[](size); }),
        expect_help([=] { return ::operator new(size, std::nothrow); }),
    };
    void *const aligned[] = {
        expect_help([=] { return ::operator new(size, value); }),
        expect_help([=] { return ::operator new(size, value, std::nothrow); }),
    };
    for (void *const block : blocks)
        ::operator delete(block);
    for (void *const block : aligned)
        ::operator delete(block, value);
}

void test_containers()
{
    std::map<int, std::string> ordered;
    std::unordered_map<std::string, std::vector<int>> hashed;
    std::list<std::string> chain;
    std::deque<double> both_ends;
    for (int i = 0; i < 20000; i++) {
        ordered[i * 7919 % 20011] = std::to_string(i) + " with a tail that is too long to stay inside the object";
        hashed[std::to_string(i % 1000)].push_back(i);
        chain.push_back(std::string(static_cast<std::size_t>(i % 100), 'x'));
        if (i % 3 == 0)
            chain.pop_front();
        both_ends.push_front(i);
        both_ends.push_back(-i);
    }
    CHECK(ordered.size() == 20000 && hashed.size() == 1000 && both_ends.size() == 40000);
    CHECK(ordered[7919].substr(0, 6) == "1 with");
    CHECK(hashed["17"].size() == 20 && hashed["17"][19] == 19017);
    std::vector<std::shared_ptr<std::string>> shared(1000, std::make_shared<std::string>("shared"));
    CHECK(shared[0].use_count() == 1000);
    std::vector<int> numbers(100000);
    for (std::size_t i = 0; i < numbers.size(); i++)
        numbers[i] = static_cast<int>(i * 7919 % 100003);
    std::stable_sort(numbers.begin(), numbers.end());
    CHECK(std::is_sorted(numbers.begin(), numbers.end()));
    std::ostringstream text;
    for (int i = 0; i < 10000; i++)
        text << i << ',';
    CHECK(text.str().size() == 48890);
}

void test_across_threads()
{
    std::vector<std::string> given;
    std::thread giver([&] {
        for (int i = 0; i < 5000; i++)
            given.push_back(std::string(static_cast<std::size_t>(i % 3000), 'a'));
        CHECK(throws_bad_alloc([] { return ::operator new(SIZE_MAX / 2); }));
    });
    giver.join();
    for (std::size_t i = 0; i < given.size(); i++)
        CHECK(given[i].size() == i % 3000);
}

} // namespace

extern "C" int cxx_checks(void);

extern "C" int cxx_checks(void)
{
    test_plain_forms();
    test_aligned_forms();
    test_absurd_sizes();
    test_unwinding();
    test_new_handler();
    test_new_handler_that_helps();
    test_containers();
    test_across_threads();
    return 0;
}
