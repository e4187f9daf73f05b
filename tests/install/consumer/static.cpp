// operator new of the drop-in inside a program: it throws, and calls the new-handler, also in the form that does not
// throw.
#include <cstdint>
#include <cstdlib>
#include <new>

static int handled;

static void handler()
{
    if (++handled == 2) {
        throw std::bad_alloc();
    }
}

static bool throws(std::size_t bytes)
{
    try {
        operator delete(operator new(bytes));
    } catch (const std::bad_alloc &) {
        return true;
    }
    return false;
}

int main(int argc, char **)
{
    volatile std::size_t huge = SIZE_MAX / 16;
    if (throws(100) || !throws(huge)) {
        return 1;
    }
    std::set_new_handler(handler);
    if (!throws(huge) || handled != 2) {
        return 2;
    }
    handled = 0;
    if (operator new(huge, std::nothrow) != nullptr) {
        return 3;
    }
    // Without a dynamic loader the nothrow form finds nothing that could catch, and leaves the handler alone (an
    // argument says so).
    return handled == (argc > 1 ? 0 : 2) ? 0 : 4;
}
