/* Operator new when there is no memory at all, under the interposing library (interpose.c): the new-handler is called,
 * std::bad_alloc is thrown, the nothrow forms return null; and all of them work when the handler has found memory. */
#include "check.h"

#include <dlfcn.h>
#include <new>

static void (*plan)(const char *);
static int handled;
static bool finds_memory;

static void handler()
{
    handled++;
    if (finds_memory) {
        plan("");
    } else if (handled % 2 == 0) {
        throw std::bad_alloc();
    } else {
        std::set_new_handler(nullptr);
    }
}

template <typename Allocate> static bool throws(Allocate allocate)
{
    std::set_new_handler(handler);
    try {
        allocate();
    } catch (const std::bad_alloc &) {
        return true;
    }
    return false;
}

int main()
{
    struct alignas(256) Wide {
        char bytes[256];
    };
    /* At the start libstdc++ keeps a part of the memory for exceptions. All the rest is used up. */
    plan = reinterpret_cast<void (*)(const char *)>(dlsym(RTLD_DEFAULT, "faults_plan"));
    CHECK(plan != nullptr && getenv("NEW_FAULTS") != nullptr);
    plan(getenv("NEW_FAULTS"));
    for (size_t size = 1 << 20; size >= 16; size /= 2) {
        while (keep(malloc(size)) != nullptr) {
        }
    }
    for (int i = 0; i < 4; i++) {
        CHECK(throws([] { keep(::operator new(100)); }));
        CHECK(throws([] { keep(::operator new[](100000)); }));
        CHECK(throws([] { keep(new Wide); }));
        CHECK(throws([] { keep(new Wide[2]); }));
        CHECK(!throws([] { CHECK(keep(new (std::nothrow) char[5]) == nullptr); }));
        CHECK(!throws([] { CHECK(keep(new (std::nothrow) Wide[2]) == nullptr); }));
        CHECK(!throws([] { CHECK(keep(new (std::nothrow) char) == nullptr); }));
        CHECK(!throws([] { CHECK(keep(new (std::nothrow) Wide) == nullptr); }));
    }
    CHECK(handled >= 32);
    finds_memory = true;
    CHECK(!throws([] { delete new Wide; }));
    std::set_new_handler(nullptr);
    CHECK(!throws([] { delete[] new char[1 << 20]; }));
    return 0;
}
