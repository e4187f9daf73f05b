# What `cmake --install` says last: how programs find the shared libraries.

if(NOT "$ENV{DESTDIR}" STREQUAL "")
    return()
endif()
set(directory "${CMAKE_INSTALL_PREFIX}/${tslab_libdir}")
message(STATUS "tslab: programs find the shared libraries in ${directory}
   if the loader knows that directory: as root, add it to /etc/ld.so.conf.d and run ldconfig
   or if they are linked with -Wl,-rpath,${directory}
   or if LD_LIBRARY_PATH contains it")
