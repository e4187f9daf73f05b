# Removes what the last `cmake --install` of a build has put in place.
#
# usage: [DESTDIR=...] [PREFIX=...] cmake -D manifest=FILE -P TslabUninstall.cmake
#
# With a PREFIX, it removes nothing if the last installation went elsewhere.

if(NOT EXISTS "${manifest}")
    message(FATAL_ERROR "tslab: there is no ${manifest}: nothing was installed from this build.")
endif()
file(STRINGS "${manifest}" files)
list(GET files 0 first)
string(REGEX REPLACE "/+$" "" prefix "$ENV{PREFIX}")
string(FIND "${first}" "${prefix}/" at)
if(NOT at EQUAL 0)
    message(FATAL_ERROR "tslab: the last installation from this build has ${first}, and nothing in ${prefix}. "
                        "Nothing was removed. Install there again first, or leave PREFIX out.")
endif()
foreach(file IN LISTS files)
    set(file "$ENV{DESTDIR}${file}")
    if(EXISTS "${file}" OR IS_SYMLINK "${file}")
        message(STATUS "Removing ${file}")
        file(REMOVE "${file}")
    endif()
    get_filename_component(directory "${file}" DIRECTORY)
    get_filename_component(above "${directory}" DIRECTORY)
    list(APPEND directories "${directory}" "${above}")
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
