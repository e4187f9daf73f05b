// Real containers in epochs, by std::pmr and by an allocator of their own: where their memory is, that it comes back,
// what assignment, moves and swaps do to it, and what happens when the epoch is over.
#include "cxx.hpp"

#include <deque>
#include <list>
#include <map>
#include <memory_resource>
#include <random>
#include <scoped_allocator>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace
{

template <class T> using Vector = std::vector<T, tslab::allocator<T>>;
using String = std::basic_string<char, std::char_traits<char>, tslab::allocator<char>>;

struct Hash {
    size_t operator()(std::string_view text) const noexcept
    {
        return std::hash<std::string_view>()(text);
    }
};

// Elements are made with the allocator of the container, as those of std::pmr are.
template <class T> using Inner = std::scoped_allocator_adaptor<tslab::allocator<T>>;
template <class K, class V> using Map = std::map<K, V, std::less<>, Inner<std::pair<const K, V>>>;
template <class V>
using Table = std::unordered_map<String, V, Hash, std::equal_to<>, Inner<std::pair<const String, V>>>;

constexpr tslab_epoch none{};

std::string long_text(unsigned number)
{
    return "a text that is too long to be kept inside of a string object: " + std::to_string(number);
}

// Compares a table of lists in an epoch with one of the process, over thousands of random changes. Make is called with
// what the container is constructed from.
template <class Table, class Key> void table_behaves(Table table, tslab_epoch epoch, Key key)
{
    std::unordered_map<std::string, std::vector<unsigned>> model;
    std::mt19937 random(7);
    for (unsigned step = 0; step < 20000; step++) {
        std::string text = long_text(random() % 500);
        switch (random() % 8) {
        case 0:
            CHECK(table.erase(key(text)) == model.erase(text));
            break;
        case 1:
            CHECK((table.find(key(text)) == table.end()) == (model.find(text) == model.end()));
            break;
        case 2:
            if (step % 64 == 0) {
                table.clear();
                model.clear();
            }
            break;
        default:
            table[key(text)].push_back(step);
            model[text].push_back(step);
        }
    }
    CHECK(table.size() == model.size() && !model.empty());
    for (const auto &[text, values] : table) {
        const auto &expected = model.at(std::string(text));
        CHECK(std::equal(values.begin(), values.end(), expected.begin(), expected.end()));
        CHECK(lives_in(epoch, &text) && lives_in(epoch, text.data()));
        for (const auto &value : values)
            CHECK(lives_in(epoch, &value));
    }
}

void tables_of_every_kind_behave()
{
    tslab::epoch epoch("tables");
    tslab::memory_resource resource(epoch);
    auto plain_key = [&](const std::string &text) { return String(text.data(), text.size(), epoch); };
    auto pmr_key = [&](const std::string &text) { return std::pmr::string(text, &resource); };
    table_behaves(Table<Vector<unsigned>>(epoch), epoch, plain_key);
    table_behaves(Table<std::list<unsigned, tslab::allocator<unsigned>>>(epoch), epoch, plain_key);
    table_behaves(Table<std::deque<unsigned, tslab::allocator<unsigned>>>(epoch), epoch, plain_key);
    table_behaves(Map<String, Vector<unsigned>>(epoch), epoch, plain_key);
    table_behaves(std::pmr::unordered_map<std::pmr::string, std::pmr::vector<unsigned>>(&resource), epoch, pmr_key);
    table_behaves(std::pmr::map<std::pmr::string, std::pmr::list<unsigned>>(&resource), epoch, pmr_key);
    {
        tslab::scope inside(epoch);
        table_behaves(Table<Vector<unsigned>>(epoch), epoch, plain_key);
        table_behaves(std::pmr::map<std::pmr::string, std::pmr::deque<unsigned>>(&resource), epoch, pmr_key);
    }
    CHECK(epoch.close().survivors == 0 && gone(epoch));
}

struct alignas(64) Line {
    unsigned number;
};

struct alignas(4096) Page {
    unsigned number;
};

template <class T> bool aligned(const T *object)
{
    return reinterpret_cast<uintptr_t>(object) % alignof(T) == 0;
}

void alignment_is_kept()
{
    tslab::epoch epoch;
    tslab::memory_resource resource(epoch), without;
    Vector<Line> lines(epoch), of_the_process;
    std::pmr::vector<Page> pages(&resource), other_pages(&without);
    for (unsigned i = 0; i < 100; i++) {
        lines.push_back({ i });
        of_the_process.push_back({ i });
        pages.push_back({ i });
        other_pages.push_back({ i });
        CHECK(aligned(lines.data()) && aligned(of_the_process.data()) && aligned(pages.data()) &&
              aligned(other_pages.data()));
        CHECK(lines.back().number == i && pages.front().number == 0);
    }
    CHECK(lives_in(epoch, lines.data()) && lives_in(none, of_the_process.data()));
    CHECK(lives_in(epoch, pages.data()) && lives_in(none, other_pages.data()));
}

// Assignment leaves every container in its epoch.
void assignment_stays_in_the_epoch()
{
    tslab::epoch request("request"), session("session");
    Vector<String> source(request), target(session);
    auto fill = [&] { source.assign(20, String(long_text(3).c_str(), request)); };
    fill();

    const auto *before = source.data();
    target = source;
    CHECK(lives_in(session, target.data()) && target == source && target.get_allocator().get().id == session.get().id);
    target.clear();
    target.shrink_to_fit();
    target = std::move(source);
    CHECK(lives_in(session, target.data()) && target.data() != before && target.size() == 20);

    // Within an epoch a move hands the memory over.
    fill();
    before = source.data();
    Vector<String> neighbour(request);
    neighbour = std::move(source);
    CHECK(neighbour.data() == before && lives_in(request, before));

    {
        tslab::memory_resource resource(request), same(request), other(session);
        CHECK(resource == same && resource != other && resource != *std::pmr::new_delete_resource());
        CHECK(tslab::memory_resource() == tslab::memory_resource() && tslab::memory_resource() != resource);
        std::pmr::vector<unsigned> here(100, 7, &resource), still_here(&same), there(&other);
        const unsigned *numbers = here.data();
        still_here = std::move(here);
        CHECK(still_here.data() == numbers);
        there = std::move(still_here);
        CHECK(there.data() != numbers && lives_in(session, there.data()) && there.size() == 100 && there[99] == 7);
    }
}

void construction_chooses_the_epoch()
{
    tslab::epoch request("request"), session("session");
    Vector<unsigned> source(1000, 5u, request);
    const unsigned *memory = source.data();

    Vector<unsigned> copy(source), kept(source, session);
    CHECK(lives_in(none, copy.data()) && copy.get_allocator().get().id == 0 && copy == source);
    CHECK(lives_in(session, kept.data()) && kept == source);
    {
        tslab::scope inside(session);
        Vector<unsigned> ambient(source);
        CHECK(lives_in(session, ambient.data()));
    }
    Vector<unsigned> renamed(std::move(source));
    CHECK(renamed.data() == memory && renamed.get_allocator().get().id == request.get().id);
    Vector<unsigned> saved(std::move(renamed), session);
    CHECK(lives_in(session, saved.data()) && saved.size() == 1000 && saved[999] == 5);
}

void swap_moves_nothing()
{
    tslab::epoch request("request"), session("session");
    Vector<unsigned> a(1000, 1u, request), b(2000, 2u, session);
    const unsigned *in_a = a.data(), *in_b = b.data();
    std::swap(a, b);
    CHECK(a.data() == in_b && b.data() == in_a && a.size() == 2000 && b.size() == 1000);
    CHECK(a.get_allocator().get().id == session.get().id && b.get_allocator().get().id == request.get().id);
    a.resize(100000);
    b.resize(100000);
    CHECK(lives_in(session, a.data()) && lives_in(request, b.data()));

    Table<unsigned> table(request), other(session);
    table.emplace(long_text(1).c_str(), 1u);
    table.swap(other);
    CHECK(table.empty() && other.begin()->second == 1 && lives_in(request, other.begin()->first.data()));
    table.emplace(long_text(2).c_str(), 2u);
    CHECK(lives_in(session, table.begin()->first.data()));
}

void epochs_that_are_over_refuse()
{
    tslab::epoch epoch("over");
    tslab_epoch name = epoch;
    tslab::memory_resource resource(epoch);
    {
        Vector<unsigned> numbers(10, 1u, epoch);
        std::pmr::vector<unsigned> others(10, 1u, &resource);
        numbers.shrink_to_fit();
        others.shrink_to_fit();
        CHECK(epoch.close().survivors == 2);
        CHECK(thrown_by([&] { numbers.push_back(2); }) == TSLAB_CLOSED);
        CHECK(thrown_by([&] { others.push_back(2); }) == TSLAB_CLOSED);
        CHECK(numbers.size() == 10 && numbers[9] == 1 && others.size() == 10 && others[9] == 1);
        numbers.clear();
        numbers.shrink_to_fit();
        CHECK(in_state(name, TSLAB_EPOCH_DRAINING));
    }
    CHECK(gone(name));
    CHECK(thrown_by([&] { Vector<unsigned> refused(10, 1u, name); }) == TSLAB_STALE);
    CHECK(thrown_by([&] { (void)resource.allocate(10); }) == TSLAB_STALE);

    // An owner of nothing names no epoch. That must not be taken for "made without an epoch".
    tslab::epoch moved_from;
    tslab::epoch elsewhere(std::move(moved_from));
    CHECK(thrown_by([&] { tslab::memory_resource refused(moved_from); }) == TSLAB_STALE);
    CHECK(thrown_by([&] { Vector<unsigned> refused(moved_from); }) == TSLAB_STALE);
    CHECK(thrown_by([&] { tslab::allocator<unsigned> refused(none); }) == TSLAB_STALE);

    // Containers go on to name the epoch that an advance has closed.
    Vector<unsigned> numbers(10, 1u, elsewhere);
    elsewhere.advance();
    CHECK(thrown_by([&] { numbers.reserve(1000); }) == TSLAB_CLOSED);
    numbers = Vector<unsigned>(elsewhere);
    CHECK(thrown_by([&] { numbers.reserve(1000); }) != TSLAB_OK);
}

void impossible_sizes_are_refused()
{
    tslab::epoch epoch;
    tslab::memory_resource resource(epoch), without;
    CHECK(throws_bad_alloc([&] { (void)tslab::allocator<Page>(epoch).allocate(SIZE_MAX / 4096 + 2); }));
    CHECK(throws_bad_alloc([&] { (void)tslab::allocator<char>(epoch).allocate(unseen(PTRDIFF_MAX)); }));
    CHECK(throws_bad_alloc([&] { (void)tslab::allocator<char>().allocate(unseen(PTRDIFF_MAX)); }));
    CHECK(throws_bad_alloc([&] { (void)resource.allocate(unseen(SIZE_MAX / 2)); }));
    CHECK(throws_bad_alloc([&] { (void)without.allocate(unseen(SIZE_MAX / 2), 4096); }));
    CHECK(epoch.close().survivors == 0);
}

// Other resources may stand on one of an epoch.
// All pmr containers of a program that is linked with libtslab alone follow the scopes in this way.
void the_default_resource_follows_scopes()
{
    static tslab::memory_resource ambient;
    std::pmr::memory_resource *before = std::pmr::set_default_resource(&ambient);
    tslab::epoch epoch("ambient");
    {
        std::pmr::string outside(long_text(1));
        tslab::scope inside(epoch);
        std::pmr::string here(long_text(2));
        CHECK(lives_in(none, outside.data()) && lives_in(epoch, here.data()));
    }
    std::pmr::set_default_resource(before);
    CHECK(epoch.close().survivors == 0);
}

// Nothing is destroyed: the containers are in the epoch themselves, and end with it. One epoch, one resource, several
// threads. Each destroys what another one has built.
} // namespace

int main()
{
    tables_of_every_kind_behave();
    alignment_is_kept();
    assignment_stays_in_the_epoch();
    construction_chooses_the_epoch();
    swap_moves_nothing();
    epochs_that_are_over_refuse();
    impossible_sizes_are_refused();
    the_default_resource_follows_scopes();
    return 0;
}
