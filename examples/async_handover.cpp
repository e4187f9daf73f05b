// Tasks that are suspended on one thread and resumed on another, and carry their epochs with them: plain new and malloc
// land in the epoch of the task, on whichever thread it happens to run.
//
// It is linked with libtslab-malloc. It checks itself, and exits with 1 when something is not as it says.
#include <tslab/tslab.hpp>

#include <array>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace
{

constexpr unsigned thread_count = 2, task_count = 2000, step_count = 6, lines_per_step = 10;

void expect(bool condition, const char *what)
{
    if (!condition) {
        std::fprintf(stderr, "async_handover: not so: %s\n", what);
        std::exit(1);
    }
}

// A piece of work in steps. The epoch is declared first, so that it is destroyed last: the lines are freed by then.
struct Task {
    tslab::epoch epoch{ "task" };
    unsigned number = 0, steps_done = 0;
    std::thread::id last_thread;
    std::vector<std::string> lines;

    // Runs up to the next suspension. A coroutine would have its resume() here.
    void resume()
    {
        expect(last_thread != std::this_thread::get_id(), "each step runs on another thread than the one before");
        last_thread = std::this_thread::get_id();
        for (unsigned i = 0; i < lines_per_step; i++) {
            lines.push_back("line " + std::to_string(i) + " of step " + std::to_string(steps_done) + " of task " +
                            std::to_string(number));
            expect(tslab_epoch_of(lines.back().data()).id == epoch.get().id, "a line lives in the epoch of its task");
        }
        expect(tslab_epoch_of(lines.data()).id == epoch.get().id, "the vector grows in the epoch of its task");
        steps_done++;
    }
};

// One queue for each thread. Tasks are posted outside of all scopes, so that the queues' own memory is the process's.
class Executor
{
  public:
    void post(unsigned thread, std::unique_ptr<Task> task)
    {
        std::lock_guard lock(mutex_);
        queues_[thread].push_back(std::move(task));
        changed_.notify_all();
    }

    std::vector<std::unique_ptr<Task>> run()
    {
        std::vector<std::thread> threads;
        for (unsigned thread = 0; thread < thread_count; thread++) {
            threads.emplace_back([this, thread] { work(thread); });
        }
        for (auto &thread : threads) {
            thread.join();
        }
        return std::move(done_);
    }

  private:
    void work(unsigned thread)
    {
        while (std::unique_ptr<Task> task = next(thread)) {
            {
                // The scope is around the step, not around the task: it ends on the thread on which it began, and the
                // next step's begins on another. In between, nobody is inside of the epoch.
                tslab::scope inside(task->epoch);
                expect(inside.ambient(), "plain malloc lands in the scope");
                task->resume();
            }
            if (task->steps_done < step_count) {
                post((thread + 1) % thread_count, std::move(task));
            } else {
                finish(std::move(task));
            }
        }
    }

    // The next task of a thread; nothing when all are done.
    std::unique_ptr<Task> next(unsigned thread)
    {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this, thread] { return !queues_[thread].empty() || done_.size() == task_count; });
        if (queues_[thread].empty()) {
            return nullptr;
        }
        std::unique_ptr<Task> task = std::move(queues_[thread].front());
        queues_[thread].pop_front();
        return task;
    }

    void finish(std::unique_ptr<Task> task)
    {
        std::lock_guard lock(mutex_);
        done_.push_back(std::move(task));
        changed_.notify_all();
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::array<std::deque<std::unique_ptr<Task>>, thread_count> queues_;
    std::vector<std::unique_ptr<Task>> done_;
};

} // namespace

int main()
{
    Executor executor;
    for (unsigned number = 0; number < task_count; number++) {
        auto task = std::make_unique<Task>();
        task->number = number;
        executor.post(number % thread_count, std::move(task));
    }
    std::vector<std::unique_ptr<Task>> done = executor.run();
    expect(done.size() == task_count, "all tasks are done");

    unsigned long lines = 0;
    for (auto &task : done) {
        expect(task->lines.size() == step_count * lines_per_step, "a task has all its lines");
        expect(task->lines.back().find("of task " + std::to_string(task->number)) != std::string::npos,
               "the lines are those of the task");
        lines += task->lines.size();
        tslab_epoch name = task->epoch.get();
        task.reset();
        expect(tslab_epoch_close(name, 0, nullptr) == TSLAB_STALE, "the epoch of a task goes with it");
    }
    std::printf("%u tasks ran %u steps each, every step on another thread than the one before;\n", task_count,
                step_count);
    std::printf("all of their %lu lines were allocated in the epochs of their tasks, and went with them\n", lines);
    return 0;
}
