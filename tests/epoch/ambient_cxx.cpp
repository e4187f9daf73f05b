#include "ambient_library.h"

#include <new>

namespace
{
struct alignas(128) wide {
    char bytes[128];
};
} // namespace

extern "C" void *library_new(size_t way, size_t size)
{
    switch (way) {
    case 0:
        return ::operator new(size);
    case 1:
        return ::operator new[](size);
    case 2:
        return ::operator new(size, std::nothrow);
    case 3:
        return ::operator new[](size, std::nothrow);
    case 4:
        return ::operator new(size, std::align_val_t(256));
    case 5:
        return ::operator new[](size, std::align_val_t(4096));
    case 6:
        return new wide[3];
    case 7:
        return new int(7);
    default:
        return nullptr;
    }
}

extern "C" void library_delete(size_t way, void *p, size_t size)
{
    switch (way) {
    case 0:
        ::operator delete(p, size);
        break;
    case 1:
        ::operator delete[](p);
        break;
    case 2:
        ::operator delete(p, std::nothrow);
        break;
    case 3:
        ::operator delete[](p, std::nothrow);
        break;
    case 4:
        ::operator delete(p, size, std::align_val_t(256));
        break;
    case 5:
        ::operator delete[](p, std::align_val_t(4096));
        break;
    case 6:
        delete[] static_cast<wide *>(p);
        break;
    default:
        delete static_cast<int *>(p);
        break;
    }
}
