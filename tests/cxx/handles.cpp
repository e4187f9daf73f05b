// Typed handles: constructors and destructors run once, and whatever does not name a living object is refused.
#include "cxx.hpp"

#include <stdexcept>
#include <string>
#include <unordered_set>

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

// The place of an object is used again and again. No handle that ever named one there comes back.
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

// Of several threads that destroy an object at once, one is told that it did.
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
} // namespace

int main()
{
    objects_are_constructed_and_destroyed_once();
    nothing_is_refused();
    a_constructor_that_throws_leaves_nothing();
    handles_while_an_epoch_drains();
    handles_are_keys();
    CHECK(alive == 0);
    return 0;
}
