// Units of work, under the policy that TSLAB_EPOCH_POLICY names. The argument says which that is.
#include "cxx.hpp"

#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

namespace
{

constexpr unsigned unit_count = 60;
constexpr tslab_epoch none{};

// Runs units in which something is allocated and freed, and returns how many epochs they had.
size_t epochs_of_units()
{
    std::set<uint64_t> seen;
    for (unsigned i = 0; i < unit_count; i++) {
        tslab_epoch epoch;
        {
            tslab::work unit("unit");
            void *object = tslab_malloc(100);
            epoch = tslab_epoch_of(object);
            CHECK(inside_of(epoch));
            {
                tslab::work nested;
                CHECK(inside_of(epoch));
                tslab::work_pause pause;
                void *outside = tslab_malloc(100);
                CHECK(lives_in(none, outside));
                tslab_free(outside);
            }
            CHECK(inside_of(epoch));
            tslab_free(object);
        }
        CHECK(inside_of(none));
        if (epoch.id != 0)
            seen.insert(epoch.id);
    }
    return seen.size();
}

void exceptions_end_units()
{
    for (unsigned i = 0; i < unit_count; i++) {
        std::string message(200, 'm');
        try {
            tslab::work unit("thrower");
            tslab::epoch epoch("by hand");
            tslab::scope inside(epoch);
            throw std::runtime_error(message);
        } catch (const std::runtime_error &error) {
            CHECK(error.what() == message);
        }
        CHECK(inside_of(none) && tslab_work_end() == TSLAB_NOT_INSIDE);
    }
}

// Survivors of a unit stay valid whatever the policy.
void survivors_stay()
{
    std::set<std::string *> kept;
    for (unsigned i = 0; i < unit_count; i++) {
        tslab::work unit("survivors");
        kept.insert(new std::string(300, static_cast<char>('a' + i % 26)));
    }
    tslab_work_rotate();
    for (std::string *text : kept) {
        CHECK(text->size() == 300 && text->find_first_not_of(text->front()) == std::string::npos);
        delete text;
    }
}

size_t expected_epochs(std::string_view policy)
{
    if (policy == "per-request")
        return unit_count;
    if (policy == "batch-7")
        return (unit_count + 6) / 7;
    if (policy == "manual" || policy == "interval-86400000")
        return 1;
    CHECK(policy == "never");
    return 0;
}

} // namespace

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    CHECK(epochs_of_units() == expected_epochs(argv[1]));
    exceptions_end_units();
    survivors_stay();
    // A thread of its own starts with units of its own.
    tslab_work_rotate();
    std::thread([argv] { CHECK(epochs_of_units() == expected_epochs(argv[1])); }).join();
    return 0;
}
