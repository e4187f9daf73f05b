/* A plain C program that opens a C++ library, given as its argument, in a scope of its own. libstdc++ comes into the
 * process with the library only, and is invisible to a global lookup. A bad_alloc must still arrive inside the
 * library. */
#include "check.h"

#include <dlfcn.h>

int main(int argc, char **argv)
{
    CHECK_SAY(argc == 2, "usage: %s LIBRARY", argv[0]);
    CHECK_SAY(dlopen("libstdc++.so.6", RTLD_NOW | RTLD_NOLOAD) == NULL,
              "libstdc++ is here already: this test proves nothing");
    for (int round = 0; round < 3; round++) {
        void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        CHECK_SAY(library != NULL, "%s", dlerror());
        int (*checks)(void) = (int (*)(void))dlsym(library, "cxx_checks");
        CHECK(checks != NULL);
        CHECK(checks() == 0);
        CHECK(dlclose(library) == 0);
    }
    return 0;
}
