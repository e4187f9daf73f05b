# A build for 64-bit ARM by Debian's cross compiler, whose programs run under qemu's user mode. What the tests link comes from
# tools/arm64-packages.sh.

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)

set(packages ${CMAKE_CURRENT_LIST_DIR}/../build/arm64)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${packages})
set(ENV{PKG_CONFIG_LIBDIR} ${packages}/usr/lib/aarch64-linux-gnu/pkgconfig)
