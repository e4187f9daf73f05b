// Typed handles: constructors and destructors run once, and whatever does not name a living object is refused.
#include "cxx.hpp"

#include <atomic>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace
{

int alive;

struct Entity {
    std::string name;
    int number;
    bool fails;

    explicit Entity(std::string name_, int number_ = 0, bool fails_ = false)
        : name(std::move(name_)), number(number_), fails(fails_)
    {
        if (fails)
            throw std::runtime_error(name);
        alive++;
    }
    ~Entity()
    {
        alive--;
    }
    Entity(const Entity &) = delete;
    Entity &operator=(const Entity &) = delete;
};

using EntityHandle = tslab::handle<Entity>;
static_assert(sizeof(EntityHandle) == 8 && std::is_trivially_copyable_v<EntityHandle>);

const std::string long_name(200, 'n');

void objects_are_constructed_and_destroyed_once()
{
    tslab::epoch epoch("entities");
    EntityHandle handle = EntityHandle::create(epoch, long_name, 17);
    CHECK(alive == 1 && handle);
    Entity *entity = handle.get(epoch);
    CHECK(entity != nullptr && entity->name == long_name && entity->number == 17 && lives_in(epoch, entity));
    EntityHandle copy = handle;
    CHECK(copy == handle && copy.get(epoch) == entity);
    CHECK(copy.destroy(epoch) && alive == 0);
    CHECK(!handle.destroy(epoch) && !copy.destroy(epoch) && alive == 0);
    CHECK(handle.get(epoch) == nullptr);
    CHECK(epoch.close().survivors == 0);
}

void nothing_is_refused()
{
    tslab::epoch epoch;
    EntityHandle nothing;
    CHECK(!nothing && nothing.raw().id == 0 && nothing.get(epoch) == nullptr && !nothing.destroy(epoch));
    CHECK(nothing == EntityHandle());
}

// The place of an object is used again and again; no handle that ever named one there comes back.
void stale_handles_stay_stale()
{
    tslab::epoch epoch("reuse");
    std::vector<EntityHandle> dead;
    std::unordered_map<Entity *, unsigned> uses;
    for (int i = 0; i < 5000; i++) {
        EntityHandle handle = EntityHandle::create(epoch, "short", i);
        uses[handle.get(epoch)]++;
        for (size_t back = 1; back <= dead.size() && back <= 50; back++)
            CHECK(dead[dead.size() - back] != handle && dead[dead.size() - back].get(epoch) == nullptr);
        CHECK(handle.get(epoch)->number == i && handle.destroy(epoch));
        dead.push_back(handle);
    }
    CHECK_SAY(uses.size() < 5000, "no place was used again");
    EntityHandle living = EntityHandle::create(epoch, long_name);
    for (EntityHandle handle : dead)
        CHECK(handle != living && handle.get(epoch) == nullptr && !handle.destroy(epoch));
    CHECK(alive == 1 && living.destroy(epoch));
}

void foreign_handles_are_refused()
{
    tslab::epoch epoch("own"), other("other");
    tslab_instance instance = tslab_instance_open("instance");
    tslab_epoch root = tslab_instance_root(instance);
    EntityHandle handle = EntityHandle::create(epoch, long_name), elsewhere = EntityHandle::create(other, long_name),
                 far_away = EntityHandle::create(root, long_name);
    CHECK(alive == 3);
    CHECK(handle.get(other) == nullptr && handle.get(root) == nullptr && far_away.get(epoch) == nullptr);
    CHECK(!handle.destroy(other) && !elsewhere.destroy(epoch) && !elsewhere.destroy(root) && !far_away.destroy(other));
    CHECK(alive == 3);
    CHECK(handle.destroy(epoch) && elsewhere.destroy(other) && far_away.destroy(root) && alive == 0);
    CHECK(tslab_instance_close(instance, 0, nullptr) == TSLAB_OK);
    CHECK(far_away.get(root) == nullptr && !far_away.destroy(root));
}

void made_up_handles_are_refused()
{
    tslab::epoch epoch("made up");
    EntityHandle living = EntityHandle::create(epoch, long_name);
    for (unsigned bit = 0; bit < 64; bit++) {
        EntityHandle changed(tslab_handle{ living.raw().id ^ 1ull << bit });
        CHECK(changed.get(epoch) == nullptr && !changed.destroy(epoch));
    }
    std::mt19937_64 random(11);
    for (int i = 0; i < 200000; i++) {
        // Half of them differ from the living one in a few bits only.
        uint64_t id = i % 2 == 0 ? random() : living.raw().id ^ (random() & random() & random());
        if (id != living.raw().id)
            CHECK(EntityHandle(tslab_handle{ id }).get(epoch) == nullptr);
    }
    CHECK(alive == 1 && living.destroy(epoch));
}

void a_constructor_that_throws_leaves_nothing()
{
    tslab::epoch epoch;
    bool caught = false;
    try {
        EntityHandle::create(epoch, long_name, 1, true);
    } catch (const std::runtime_error &error) {
        caught = error.what() == long_name;
    }
    CHECK(caught && alive == 0);
    CHECK(epoch.close().survivors == 0 && gone(epoch));
}

void handles_while_an_epoch_drains()
{
    tslab::epoch epoch("draining");
    EntityHandle handle = EntityHandle::create(epoch, long_name, 5);
    CHECK(epoch.close().survivors == 1);
    CHECK(handle.get(epoch) != nullptr && handle.get(epoch)->number == 5);
    CHECK(thrown_by([&] { EntityHandle::create(epoch, long_name); }) == TSLAB_CLOSED);
    CHECK(alive == 1 && handle.destroy(epoch) && alive == 0);
    CHECK(gone(epoch) && handle.get(epoch) == nullptr && !handle.destroy(epoch));
    CHECK(thrown_by([&] { EntityHandle::create(epoch, long_name); }) == TSLAB_STALE);
}

struct Plain {
    unsigned values[10];
};
using PlainHandle = tslab::handle<Plain>;

void a_release_makes_all_handles_stale()
{
    tslab::epoch epoch("released", TSLAB_POLICY_RELEASE);
    std::vector<PlainHandle> handles;
    for (unsigned i = 0; i < 1000; i++) {
        handles.push_back(PlainHandle::create(epoch));
        handles.back().get(epoch)->values[9] = i;
    }
    for (unsigned i = 0; i < 1000; i++)
        CHECK(handles[i].get(epoch)->values[9] == i);
    tslab_epoch name = epoch;
    CHECK(epoch.advance().survivors == 1000);
    PlainHandle newer = PlainHandle::create(epoch);
    for (PlainHandle handle : handles)
        CHECK(handle != newer && handle.get(name) == nullptr && handle.get(epoch) == nullptr &&
              !handle.destroy(epoch) && !handle.destroy(name));
    CHECK(newer.destroy(epoch));
}

// Of several threads that destroy an object at once, one is told that it did.
void one_destroys()
{
    constexpr unsigned thread_count = 4, object_count = 2000;
    tslab::epoch epoch("contended");
    std::vector<PlainHandle> handles;
    for (unsigned i = 0; i < object_count; i++)
        handles.push_back(PlainHandle::create(epoch));
    std::vector<std::atomic<unsigned>> destroyed(object_count);
    std::atomic<unsigned> ready = 0;
    std::vector<std::thread> threads;
    for (unsigned thread = 0; thread < thread_count; thread++) {
        threads.emplace_back([&] {
            ready++;
            while (ready < thread_count)
                std::this_thread::yield();
            for (unsigned i = 0; i < object_count; i++) {
                if (handles[i].destroy(epoch))
                    destroyed[i]++;
            }
        });
    }
    for (auto &thread : threads)
        thread.join();
    for (auto &count : destroyed)
        CHECK(count == 1);
    CHECK(epoch.close().survivors == 0);
}

void handles_are_keys()
{
    tslab::epoch epoch;
    std::unordered_set<PlainHandle> set;
    for (int i = 0; i < 1000; i++)
        CHECK(set.insert(PlainHandle::create(epoch)).second);
    CHECK(set.size() == 1000 && set.count(PlainHandle()) == 0);
    for (PlainHandle handle : set)
        CHECK(set.count(handle) == 1 && handle.destroy(epoch));
}

// Objects of any size have handles.
void large_objects()
{
    struct Large {
        unsigned char bytes[1 << 20];
    };
    tslab::epoch epoch;
    auto handle = tslab::handle<Large>::create(epoch);
    std::memset(handle.get(epoch)->bytes, 9, sizeof(Large));
    CHECK(handle.get(epoch)->bytes[sizeof(Large) - 1] == 9 && handle.destroy(epoch));
}

} // namespace

int main()
{
    objects_are_constructed_and_destroyed_once();
    nothing_is_refused();
    stale_handles_stay_stale();
    foreign_handles_are_refused();
    made_up_handles_are_refused();
    a_constructor_that_throws_leaves_nothing();
    handles_while_an_epoch_drains();
    a_release_makes_all_handles_stale();
    one_destroys();
    handles_are_keys();
    large_objects();
    CHECK(alive == 0);
    return 0;
}
