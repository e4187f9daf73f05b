// Plain new, malloc and what libraries allocate, in scopes: it lands in the epoch where malloc is ours, and stays
// outside where it is not.
#include "cxx.hpp"

#include <cstdlib>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace
{

constexpr tslab_epoch none{};

const std::string text = "a text that is too long to be kept inside of a string object";

// Where plain allocations of a scope of this epoch are.
tslab_epoch home(tslab_epoch epoch)
{
    return on_dropin ? epoch : none;
}

void plain_objects_land_in_the_scope()
{
    tslab::epoch epoch("plain");
    std::unique_ptr<std::string> outside = std::make_unique<std::string>(text), inside_made;
    {
        tslab::scope inside(epoch);
        inside_made = std::make_unique<std::string>(text);
        std::vector<std::string> texts(100, text);
        std::shared_ptr<int> shared = std::make_shared<int>(3);
        std::function<size_t()> function = [texts] { return texts.size(); };
        auto array = std::make_unique<double[]>(10000);
        struct alignas(256) Wide {
            int value;
        };
        auto wide = std::make_unique<Wide>();
        char *duplicate = strdup(text.c_str());
        tslab_epoch expected = home(epoch);
        CHECK(lives_in(expected, inside_made.get()) && lives_in(expected, inside_made->data()));
        CHECK(lives_in(expected, texts.data()) && lives_in(expected, texts[99].data()));
        CHECK(lives_in(expected, shared.get()) && lives_in(expected, array.get()) && lives_in(expected, wide.get()));
        CHECK(lives_in(expected, duplicate));
        CHECK(function() == 100 && reinterpret_cast<uintptr_t>(wide.get()) % 256 == 0);
        CHECK(lives_in(none, outside.get()));
        free(duplicate);

        // A string from outside that has to grow allocates anew, and that is here, where realloc would have stayed
        // outside.
        outside->append(10000, 'x');
        CHECK(lives_in(expected, outside->data()));
    }
    CHECK(*inside_made == text);
    CHECK(epoch.close().survivors == (on_dropin ? 3 : 0));
    outside.reset();
    inside_made.reset();
    CHECK(gone(epoch));
}

// Freeing nothing is nothing, also as the very first thing that happens in an epoch. Big parts of the standard library
// work inside of a scope, and all that they allocate there is freed there. A scope that takes no plain objects leaves
// them to the one around it. A thread that is started inside of a scope does not allocate in it: scopes are those of
// one thread. In a vouched epoch even exceptions are the epoch's: they are fine as long as they are caught inside.
// Exceptions fly through many scopes, of epochs that end and of epochs that stay, and are kept beyond them.
void exceptions_outlive_their_epochs()
{
    std::vector<std::exception_ptr> kept;
    std::vector<tslab_epoch> names;
    for (int round = 0; round < 50; round++) {
        try {
            tslab::epoch epoch("thrower");
            names.push_back(epoch);
            tslab::scope inside(epoch);
            try {
                tslab::epoch nested("nested");
                tslab::scope deeper(nested);
                throw std::runtime_error(text + std::to_string(round));
            } catch (...) {
                CHECK(inside_of(epoch));
                std::throw_with_nested(std::logic_error("outer " + std::to_string(round)));
            }
        } catch (...) {
            kept.push_back(std::current_exception());
        }
        CHECK(inside_of(none));
    }
    for (size_t round = 0; round < kept.size(); round++) {
        CHECK(in_state(names[round], TSLAB_EPOCH_DRAINING) == on_dropin);
        try {
            std::rethrow_exception(kept[round]);
        } catch (const std::logic_error &outer) {
            CHECK(outer.what() == "outer " + std::to_string(round));
            try {
                std::rethrow_if_nested(outer);
                CHECK(false);
            } catch (const std::runtime_error &inner) {
                CHECK(inner.what() == text + std::to_string(round));
            }
        }
    }
    kept.clear();
    for (tslab_epoch name : names)
        CHECK(gone(name));
}

bool lands_in(tslab_epoch epoch)
{
    void *object = tslab_malloc(10);
    bool lands = lives_in(epoch, object);
    tslab_free(object);
    return lands;
}

void a_pause_is_outside()
{
    tslab::epoch epoch("paused");
    std::string kept;
    {
        tslab::scope inside(epoch);
        CHECK(lands_in(epoch));
        {
            tslab::work_pause pause;
            kept = text;
            {
                tslab::work_pause again;
                CHECK(lands_in(none));
                kept.append(1000, 'x');
            }
            CHECK(lands_in(none));
            kept.append(10000, 'x');
            CHECK(lives_in(none, kept.data()));
        }
        CHECK(lands_in(epoch));
        std::string here = text;
        CHECK(lives_in(home(epoch), here.data()));
    }
    CHECK(epoch.close().survivors == 0 && gone(epoch));
    CHECK(kept.size() == text.size() + 11000);
}

} // namespace

int main()
{
    plain_objects_land_in_the_scope();
    exceptions_outlive_their_epochs();
    a_pause_is_outside();
    return 0;
}
