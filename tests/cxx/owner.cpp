// The owner of an epoch and the scope: their lives, their errors, moves, nesting, hand-over, and the misuse that ends
// the program.
#include "cxx.hpp"
#include "workers.h"

#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace
{

static_assert(!std::is_copy_constructible_v<tslab::epoch> && !std::is_copy_assignable_v<tslab::epoch>);
static_assert(std::is_nothrow_move_constructible_v<tslab::epoch> && std::is_nothrow_move_assignable_v<tslab::epoch>);
static_assert(std::is_convertible_v<const tslab::epoch &, tslab_epoch>);
static_assert(!std::is_convertible_v<tslab::epoch, tslab_epoch>, "a name of an owner that is gone already");
static_assert(!std::is_constructible_v<tslab::scope, tslab::epoch>, "a scope of an owner that is gone already");
static_assert(!std::is_move_constructible_v<tslab::scope> && !std::is_copy_constructible_v<tslab::scope>);

constexpr tslab_epoch none{};

void owner_opens_and_closes()
{
    tslab_epoch name;
    {
        tslab::epoch epoch;
        name = epoch;
        CHECK(name.id != 0 && name.id == epoch.get().id);
        CHECK(in_state(epoch, TSLAB_EPOCH_OPEN));
        CHECK(epoch.stats().policy == TSLAB_POLICY_DRAIN && epoch.stats().label[0] == 0);
    }
    CHECK(gone(name));
}

void owner_passes_the_options_on()
{
    tslab::epoch parent("parent", TSLAB_POLICY_REPORT);
    CHECK(parent.stats().policy == TSLAB_POLICY_REPORT && std::strcmp(parent.stats().label, "parent") == 0);
    tslab_epoch_options options{};
    options.label = "a label that is longer than the 31 bytes that are kept of it";
    options.parent = parent;
    options.policy = TSLAB_POLICY_TRAP;
    tslab::epoch child(options);
    tslab_epoch_stats stats = child.stats();
    CHECK(stats.parent.id == parent.get().id && stats.policy == TSLAB_POLICY_TRAP);
    CHECK(std::string(stats.label) == std::string(options.label).substr(0, 31));

    options.policy = static_cast<tslab_policy>(17);
    CHECK(thrown_by([&] { tslab::epoch refused(options); }) == TSLAB_INVALID);
    options.policy = TSLAB_POLICY_DRAIN;
    options.parent = tslab_epoch{ 12345 };
    CHECK(thrown_by([&] { tslab::epoch refused(options); }) == TSLAB_INVALID);
}

void owner_reports_what_a_close_did()
{
    tslab::epoch epoch("report");
    void *survivor = tslab_epoch_malloc(epoch, 1000), *freed = tslab_epoch_malloc(epoch, 1000);
    tslab_free(freed);
    tslab::report report = epoch.close();
    CHECK(!report.pending && report.survivors == 1 && report.survivor_bytes >= 1000);
    CHECK(in_state(epoch, TSLAB_EPOCH_DRAINING) && epoch.stats().live_objects == 1);
    CHECK(thrown_by([&] { epoch.close(); }) == TSLAB_CLOSED);
    CHECK(thrown_by([&] { epoch.advance(); }) == TSLAB_CLOSED);
    std::memset(survivor, 1, 1000);
    tslab_free(survivor);
    CHECK(gone(epoch));
    CHECK(thrown_by([&] { epoch.close(); }) == TSLAB_STALE);
    CHECK(thrown_by([&] { epoch.stats(); }) == TSLAB_STALE);
}

void owner_releases()
{
    tslab::epoch epoch;
    CHECK(tslab_epoch_malloc(epoch, 100000) != nullptr && tslab_epoch_malloc(epoch, 10) != nullptr);
    {
        tslab::scope inside(epoch);
        CHECK(thrown_by([&] { epoch.release(); }) == TSLAB_BUSY);
        CHECK(in_state(epoch, TSLAB_EPOCH_OPEN));
    }
    tslab::report report = epoch.release(TSLAB_CLOSE_RECLAIM);
    CHECK(!report.pending && report.survivors == 2 && report.reclaimed_bytes >= 100000);
    CHECK(gone(epoch));
    CHECK(thrown_by([&] { epoch.release(); }) == TSLAB_STALE);

    // An epoch that drains can be ended by its owner, which goes on to name it.
    tslab::epoch draining;
    CHECK(tslab_epoch_malloc(draining, 10) != nullptr);
    CHECK(draining.close().survivors == 1);
    CHECK(draining.release().survivors == 1);
    CHECK(gone(draining));
}

void owner_moves()
{
    tslab::epoch first("first");
    tslab_epoch name = first;
    tslab::epoch second(std::move(first));
    CHECK(first.get().id == 0 && second.get().id == name.id && in_state(name, TSLAB_EPOCH_OPEN));
    CHECK(thrown_by([&] { first.close(); }) == TSLAB_STALE);
    CHECK(thrown_by([&] { first.advance(); }) == TSLAB_STALE);
    CHECK(thrown_by([&] { tslab::scope refused(first); }) == TSLAB_STALE);

    tslab::epoch other("other");
    tslab_epoch other_name = other;
    other = std::move(second);
    CHECK(gone(other_name) && other.get().id == name.id && in_state(name, TSLAB_EPOCH_OPEN));
    auto &same = other;
    other = std::move(same);
    CHECK(other.get().id == name.id && in_state(name, TSLAB_EPOCH_OPEN));
    std::swap(first, other);
    CHECK(first.get().id == name.id && other.get().id == 0);

    std::vector<tslab::epoch> many;
    for (int i = 0; i < 100; i++)
        many.emplace_back("one of many");
    std::vector<tslab_epoch> names(many.begin(), many.end());
    many.erase(many.begin(), many.begin() + 50);
    for (size_t i = 0; i < names.size(); i++)
        CHECK(gone(names[i]) == (i < 50));
}

void owner_takes_over_and_gives_up()
{
    tslab_epoch name = tslab_epoch_open(nullptr);
    {
        tslab::epoch owner = tslab::epoch::adopt(name);
        CHECK(owner.detach().id == name.id && owner.get().id == 0);
        CHECK(owner.detach().id == 0);
    }
    CHECK(in_state(name, TSLAB_EPOCH_OPEN));
    {
        tslab::epoch owner = tslab::epoch::adopt(name);
    }
    CHECK(gone(name));
}

void owner_goes_while_somebody_is_inside()
{
    auto owner = std::make_unique<tslab::epoch>("pending", TSLAB_POLICY_RELEASE);
    tslab_epoch name = *owner;
    {
        tslab::scope inside(name);
        auto *object = static_cast<char *>(tslab_epoch_malloc(name, 100));
        owner.reset();
        CHECK(in_state(name, TSLAB_EPOCH_CLOSING));
        CHECK(thrown_by([&] { tslab::scope refused(name); }) == TSLAB_CLOSED);
        std::memset(object, 1, 100);
    }
    CHECK(gone(name));

    tslab::epoch closed("closed");
    tslab::scope inside(closed);
    CHECK(closed.close().pending);
    CHECK(thrown_by([&] { closed.close(); }) == TSLAB_CLOSED);
}

void scope_says_whether_it_is_ambient()
{
    tslab::epoch drain("drain"), release("release", TSLAB_POLICY_RELEASE),
        vouched("vouched", TSLAB_POLICY_RELEASE, TSLAB_OPEN_VOUCHED);
    CHECK(tslab::scope(drain).ambient() == on_dropin);
    CHECK(!tslab::scope(release).ambient());
    CHECK(tslab::scope(vouched).ambient() == on_dropin);
}

// Exceptions leave all scopes, and the message is whole, wherever the runtime has allocated it.
void exceptions_leave_scopes()
{
    const std::string message(300, 'm');
    tslab_epoch names[3] = {};
    try {
        tslab::epoch first("first"), second("second");
        names[0] = first;
        names[1] = second;
        tslab::scope outer(first);
        tslab::scope inner(second);
        tslab::epoch third("third");
        names[2] = third;
        tslab::scope innermost(third);
        throw std::runtime_error(message);
    } catch (const std::exception &error) {
        CHECK(inside_of(none));
        CHECK(error.what() == message);
        CHECK(gone(names[0]) && gone(names[1]));
        // Where malloc is ours, the exception itself is a survivor of the scope in which it was thrown.
        CHECK(on_dropin ? in_state(names[2], TSLAB_EPOCH_DRAINING) : gone(names[2]));
    }
    CHECK(gone(names[2]));
}

void scopes_advance()
{
    tslab::epoch epoch("advanced"), other("other");
    tslab_epoch first = epoch;
    {
        tslab::scope outer(epoch);
        void *object = tslab_malloc(100);
        CHECK(lives_in(first, object));
        CHECK(thrown_by([&] { epoch.advance(); }) == TSLAB_BUSY);
        CHECK(epoch.get().id == first.id && inside_of(first));

        tslab::report report = outer.advance(epoch);
        CHECK(!report.pending && report.survivors == 1);
        CHECK(epoch.get().id != first.id && inside_of(epoch) && in_state(first, TSLAB_EPOCH_DRAINING));
        CHECK(std::strcmp(epoch.stats().label, "advanced") == 0);
        tslab_free(object);
        CHECK(gone(first));
        CHECK(thrown_by([&] { outer.advance(other); }) == TSLAB_NOT_INSIDE);
        {
            tslab::scope inner(epoch);
            tslab_epoch second = epoch;
            CHECK(thrown_by([&] { outer.advance(other); }) == TSLAB_NOT_INSIDE);
            // The outer scope is still inside of what is closed here.
            CHECK(inner.advance(epoch).pending);
            CHECK(in_state(second, TSLAB_EPOCH_CLOSING) && inside_of(epoch));
            CHECK(thrown_by([&] { outer.advance(epoch); }) == TSLAB_NOT_INSIDE);
            CHECK(!inner.advance(epoch).pending);
        }
        {
            tslab::scope inner(other);
            tslab_epoch third = epoch;
            CHECK(!epoch.advance().pending && gone(third) && inside_of(other));
        }
    }
    CHECK(inside_of(none));
    CHECK(!epoch.close().pending);
    CHECK(gone(epoch));
}

// Runs a body in a child, and returns what it says on stderr when it ends by abort.
template <class Body> std::string last_words(Body body)
{
    int file;
    const pid_t child = fork_heard(&file);
    if (child == 0) {
        body();
        _exit(0);
    }
    char words[10000];
    const int status = child_heard(child, file, words, sizeof words);
    CHECK_SAY(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "the child ended with %d and said: %s", status,
              words);
    return words;
}

void misused_scopes_end_the_program()
{
    std::string words = last_words([] {
        tslab::epoch first, second;
        auto outer = std::make_unique<tslab::scope>(first), inner = std::make_unique<tslab::scope>(second);
        outer.reset();
    });
    CHECK_SAY(words.find("tslab: cannot leave the epoch: ") != std::string::npos, "it said: %s", words.c_str());
    words = last_words([] {
        tslab::work unit;
        tslab_work_end();
    });
    CHECK_SAY(words.find("tslab: cannot end the unit of work: ") != std::string::npos, "it said: %s", words.c_str());
}

} // namespace

int main()
{
    misused_scopes_end_the_program();
    owner_opens_and_closes();
    owner_passes_the_options_on();
    owner_reports_what_a_close_did();
    owner_releases();
    owner_moves();
    owner_takes_over_and_gives_up();
    owner_goes_while_somebody_is_inside();
    scope_says_whether_it_is_ambient();
    exceptions_leave_scopes();
    scopes_advance();
    return 0;
}
