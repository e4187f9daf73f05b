// Frames of coroutines in epochs: by argument, by none, in members, across threads, at the end of the epoch, and
// refused.
#include "cxx.hpp"

#include <coroutine>
#include <cstdlib>
#include <thread>
#include <utility>

namespace
{

struct task {
    struct promise_type : tslab::promise_base {
        task get_return_object()
        {
            return { std::coroutine_handle<promise_type>::from_promise(*this) };
        }
        std::suspend_always initial_suspend() noexcept
        {
            return {};
        }
        std::suspend_always final_suspend() noexcept
        {
            return {};
        }
        void return_void()
        {
        }
        void unhandled_exception()
        {
            std::abort();
        }
    };
    std::coroutine_handle<promise_type> handle;

    void run_and_destroy()
    {
        handle.resume();
        CHECK(handle.done());
        handle.destroy();
    }
};

static_assert(tslab::epoch_name<tslab_epoch> && tslab::epoch_name<tslab::epoch>);
static_assert(!tslab::epoch_name<int> && !tslab::epoch_name<const char *> && !tslab::epoch_name<tslab::scope>);

enum { LARGE = 100000 };

task serve(int part, const tslab::epoch &, int *result)
{
    volatile char buffer[LARGE];
    buffer[part] = 1;
    co_await std::suspend_always();
    *result = buffer[part] + part;
}

task serve_by_name(tslab_epoch, tslab_epoch, int *result)
{
    *result = 2;
    co_return;
}

task serve_anywhere(int *result)
{
    *result = 3;
    co_return;
}

struct server {
    int value;
    task serve(const tslab::epoch &, int *result)
    {
        *result = value;
        co_return;
    }
};

void frames_land_in_the_epoch_that_an_argument_names()
{
    tslab::epoch epoch("frames"), other("other");
    int result = 0;
    task task = serve(7, epoch, &result);
    CHECK(lives_in(epoch, task.handle.address()));
    CHECK(epoch.stats().live_objects == 1 && epoch.stats().live_bytes >= LARGE);
    task.handle.resume();
    CHECK(result == 0 && !task.handle.done());
    task.run_and_destroy();
    CHECK(result == 8 && epoch.stats().live_objects == 0);

    task = serve_by_name(epoch, other, &result); // the first one counts
    CHECK(lives_in(epoch, task.handle.address()));
    task.run_and_destroy();
    CHECK(result == 2);

    server server{ 5 };
    task = server.serve(other, &result);
    CHECK(lives_in(other, task.handle.address()));
    task.run_and_destroy();
    CHECK(result == 5);
}

void frames_of_no_epoch_follow_the_scope()
{
    int result = 0;
    task task = serve_anywhere(&result);
    CHECK(tslab_epoch_of(task.handle.address()).id == 0);
    task.run_and_destroy();
    tslab::epoch epoch("ambient");
    {
        tslab::scope inside(epoch);
        task = serve_anywhere(&result);
    }
    CHECK(lives_in(epoch, task.handle.address()));
    task.run_and_destroy();
    CHECK(result == 3);
}

void a_frame_may_end_in_another_thread()
{
    tslab::epoch epoch("frames");
    int result = 0;
    task task = serve(1, epoch, &result);
    task.handle.resume();
    std::thread([&] { task.run_and_destroy(); }).join();
    CHECK(result == 2 && epoch.stats().live_objects == 0);
}

void what_was_not_destroyed_is_a_survivor()
{
    tslab::epoch epoch("frames", TSLAB_POLICY_RELEASE);
    int result = 0;
    (void)serve(1, epoch, &result);
    const tslab::report report = epoch.close();
    CHECK(report.survivors == 1 && report.survivor_bytes >= LARGE);
}

void a_frame_without_memory_is_refused()
{
    tslab_epoch_options options{};
    options.limit_bytes = 1 << 16;
    tslab::epoch small(options);
    int result = 0;
    CHECK(throws_bad_alloc([&] { (void)serve(1, small, &result); }));
    CHECK(small.stats().live_objects == 0);
    tslab::epoch moved = std::move(small);
    CHECK(thrown_by([&] { (void)serve(1, small, &result); }) == TSLAB_STALE);
    const tslab_epoch name = moved;
    moved.close();
    CHECK(thrown_by([&] { (void)serve_by_name(name, name, &result); }) == TSLAB_STALE);
    CHECK(result == 0);
}

} // namespace

int main()
{
    frames_land_in_the_epoch_that_an_argument_names();
    frames_of_no_epoch_follow_the_scope();
    a_frame_may_end_in_another_thread();
    what_was_not_destroyed_is_a_survivor();
    a_frame_without_memory_is_refused();
    return 0;
}
