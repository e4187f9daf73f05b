// Domains: entered again and again, by several threads, with a limit of their own, and an end in steps.
#include "cxx.hpp"

#include <atomic>
#include <memory>
#include <memory_resource>
#include <string>
#include <thread>
#include <vector>

namespace
{

constexpr size_t mebibyte = 1 << 20;

void it_is_entered_again_and_again()
{
    const tslab::domain tenant("tenant");
    std::vector<std::unique_ptr<char[]>> kept(100);
    for (auto &block : kept) {
        const int answer = tenant.enter([&block] {
            CHECK(tslab_epoch_current().id != 0);
            block = std::make_unique<char[]>(10000);
            return 42;
        });
        CHECK(answer == 42 && inside_of({}));
        CHECK(lives_in(on_dropin ? tslab_epoch(tenant) : tslab_epoch{}, block.get()));
    }
    const auto report = tenant.report();
    CHECK(std::string(report.label) == "tenant" && report.state == TSLAB_EPOCH_OPEN && report.inside == 0);
    CHECK(!on_dropin || (report.live_bytes >= 1000000 && report.resident_bytes >= report.live_bytes));
    CHECK(report.peak_bytes >= report.memory_bytes);
    bool thrown = false;
    try {
        tenant.enter([] { throw 7; });
    } catch (int) {
        thrown = inside_of({});
    }
    CHECK(thrown);
}

void containers_live_in_it()
{
    tslab::domain tenant("tenant"), other("other");
    {
        std::pmr::vector<std::pmr::string> texts(&tenant), others(&other);
        for (int i = 0; i < 1000; i++) {
            texts.emplace_back("a text that is too long to be kept inside of a string object");
        }
        CHECK(lives_in(tenant, texts.data()) && lives_in(tenant, texts.front().data()));
        others = std::move(texts); // its elements move into the other tenant's memory
        CHECK(lives_in(other, others.data()) && lives_in(other, others.front().data()));
        CHECK(tenant.is_equal(tslab::memory_resource(tenant)) && !tenant.is_equal(other));
        CHECK(tenant.report().peak_bytes >= 1000 * sizeof(std::pmr::string));
    }
    CHECK(tenant.report().live_objects == 0 && other.report().live_objects == 0);
}

void a_limit_is_its_own()
{
    tslab::domain small("small", 4 * mebibyte), other("other");
    CHECK(throws_bad_alloc([&small] { std::pmr::vector<char>(8 * mebibyte, &small); }));
    std::pmr::vector<char> fits(2 * mebibyte, &small), elsewhere(8 * mebibyte, &other);
    CHECK(small.report().limit_bytes == 4 * mebibyte && small.report().refusals > 0 && other.report().refusals == 0);
    CHECK(small.report().peak_bytes <= 4 * mebibyte && other.report().live_bytes >= 8 * mebibyte);
    CHECK(throws_bad_alloc([&small] { small.enter([&small] { (void)small.allocate(4 * mebibyte); }); }));
}

void it_ends_in_steps()
{
    tslab::domain tenant("tenant");
    void *const first = tenant.allocate(1000), *const second = tslab_epoch_malloc(tenant, 100000);
    CHECK(first != nullptr && second != nullptr && !tenant.drained());
    tenant.retire();
    CHECK(in_state(tenant, TSLAB_EPOCH_DRAINING) && tenant.report().live_objects == 2);
    CHECK(thrown_by([&tenant] { tenant.retire(); }) == TSLAB_CLOSED);
    CHECK(thrown_by([&tenant] { tenant.enter([] {}); }) == TSLAB_CLOSED);
    CHECK(thrown_by([&tenant] { (void)tenant.allocate(1); }) == TSLAB_CLOSED);
    tenant.deallocate(first, 1000);
    CHECK(!tenant.drained() && tenant.report().live_objects == 1);
    std::thread([second] { tslab_free(second); }).join();
    CHECK(tenant.drained() && gone(tenant));
    CHECK(thrown_by([&tenant] { (void)tenant.report(); }) == TSLAB_STALE);
}

// A thread that is inside holds it up.
void threads_are_inside_while_it_ends()
{
    tslab::domain tenant("tenant");
    std::atomic<int> inside{ 0 };
    std::atomic<bool> over{ false };
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++) {
        threads.emplace_back([&] {
            tenant.enter([&] {
                inside++;
                while (!over) {
                    std::this_thread::yield();
                }
            });
        });
    }
    while (inside < 4) {
        std::this_thread::yield();
    }
    CHECK(tenant.report().inside == 4);
    tenant.retire();
    CHECK(!tenant.drained() && in_state(tenant, TSLAB_EPOCH_CLOSING));
    over = true;
    for (auto &thread : threads) {
        thread.join();
    }
    CHECK(tenant.drained());
}

void a_destructor_retires_it()
{
    tslab_epoch name{};
    void *kept = nullptr;
    {
        const tslab::domain tenant("tenant");
        name = tenant;
        kept = tslab_epoch_malloc(name, 100);
    }
    CHECK(in_state(name, TSLAB_EPOCH_DRAINING));
    tslab_free(kept);
    CHECK(gone(name));
}

} // namespace

int main()
{
    it_is_entered_again_and_again();
    containers_live_in_it();
    a_limit_is_its_own();
    it_ends_in_steps();
    threads_are_inside_while_it_ends();
    a_destructor_retires_it();
    return 0;
}
