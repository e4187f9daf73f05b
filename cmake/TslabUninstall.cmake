# Removes what the last `cmake --install` of a build has put in place.
#
# usage: [DESTDIR=...] cmake -D manifest=FILE -P TslabUninstall.cmake

if(NOT EXISTS "${manifest}")
    message(FATAL_ERROR "tslab: there is no ${manifest}: nothing was installed from this build.")
endif()
file(STRINGS "${manifest}" files)
foreach(file IN LISTS files)
    set(file "$ENV{DESTDIR}${file}")
    if(EXISTS "${file}" OR IS_SYMLINK "${file}")
        message(STATUS "Removing ${file}")
        file(REMOVE "${file}")
    endif()
    get_filename_component(directory "${file}" DIRECTORY)
    list(APPEND directories "${directory}")
endforeach()
# The directories of tslab's own.
list(REMOVE_DUPLICATES directories)
list(SORT directories ORDER DESCENDING) # those within others come first
foreach(directory IN LISTS directories)
    file(GLOB left "${directory}/*")
    if(directory MATCHES "/tslab(/monitoring)?$|/tslab_tools(/[a-z]+)*$" AND NOT left)
        file(REMOVE_RECURSE "${directory}")
    endif()
endforeach()
