# How the sources of tslab are compiled and linked: one function for every library made of them.

include(CheckCCompilerFlag)
include(CheckIncludeFile)

set(tslab_warnings -Wall -Wextra -Wshadow -Wundef -Wvla -Wformat=2 -Wpointer-arith)
set(tslab_c_warnings -Wstrict-prototypes)
set(tslab_library_warnings -Wconversion -Wcast-qual -Wwrite-strings -Wmissing-prototypes)
if(TSLAB_WERROR)
    list(APPEND tslab_warnings -Werror)
endif()
add_compile_options(${tslab_warnings} "$<$<COMPILE_LANGUAGE:C>:${tslab_c_warnings}>")

set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# An older CMake knows no C17, which is C11 with its faults mended.
set(CMAKE_C_STANDARD 17)
if(CMAKE_VERSION VERSION_LESS 3.21)
    set(CMAKE_C_STANDARD 11)
endif()
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# The GNU declarations have to be there whichever header a translation unit happens to include first.
add_compile_definitions(_GNU_SOURCE)

if(TSLAB_SANITIZE STREQUAL address)
    set(sanitizers -fsanitize=address,undefined -fno-sanitize-recover=all)
elseif(TSLAB_SANITIZE STREQUAL thread)
    set(sanitizers -fsanitize=thread)
elseif(NOT TSLAB_SANITIZE STREQUAL none)
    message(FATAL_ERROR "TSLAB_SANITIZE is none, address or thread, not '${TSLAB_SANITIZE}'.")
endif()
if(sanitizers)
    add_compile_options(${sanitizers} -fno-omit-frame-pointer)
    add_link_options(${sanitizers})
endif()

# The counters live in the file that they end up in, so that also those of a process that is killed count. Each program that is
# started has its own: what runs before the counters are there, as the engine's start does, counts only in a new file.
if(TSLAB_COVERAGE)
    set(tslab_coverage
        -fprofile-instr-generate=${PROJECT_BINARY_DIR}/counts/%p-%m%c.profraw
        -fcoverage-mapping
        -fprofile-update=atomic
        "SHELL:-mllvm -runtime-counter-relocation")
endif()

# The names of the interface have a version. Those of libc, of C++'s operators and of jemalloc have none, so that they serve programs
# that were linked against a version of libc's.
set(tslab_symbol_versions ${CMAKE_CURRENT_BINARY_DIR}/tslab.map)
configure_file(${CMAKE_CURRENT_LIST_DIR}/tslab.map.in ${tslab_symbol_versions} @ONLY)

# The order of what is in a shared library (order.ld.in). Other linkers than GNU ld use their own.
separate_arguments(link_flags UNIX_COMMAND "${CMAKE_C_FLAGS} ${CMAKE_SHARED_LINKER_FLAGS}")
execute_process(COMMAND ${CMAKE_C_COMPILER} ${link_flags} -Wl,--version OUTPUT_VARIABLE linker ERROR_QUIET)
set(tslab_order)
if(linker MATCHES "^GNU ld")
    set(tslab_order ${CMAKE_CURRENT_BINARY_DIR}/order.ld)
    file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/hot.txt hot REGEX "^[A-Za-z_]")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/hot.txt)
    list(TRANSFORM hot REPLACE "(.+)" "*(.text.\\1 .text.\\1.*)")
    string(REPLACE ";" "\n    " tslab_hot_sections "${hot}")
    configure_file(${CMAKE_CURRENT_LIST_DIR}/order.ld.in ${tslab_order} @ONLY)
endif()

# The same sources give the same bytes in whatever directory they lie. Debuggers look below the directory that they are told.
set(tslab_same_bytes)
if(CMAKE_BUILD_TYPE STREQUAL Release AND NOT TSLAB_COVERAGE)
    # gcc heeds the last that fits.
    set(tslab_same_bytes -ffile-prefix-map=${PROJECT_SOURCE_DIR}=. -ffile-prefix-map=${PROJECT_BINARY_DIR}=./build)
endif()

# On Intel's processors of 2015 to 2019 a branch that crosses 32 bytes, or ends there, is slow. What lies before the fast path decides
# which of its branches do: without this flag a pair of malloc and free takes 5.5 to 6.2 ns, in an epoch 7.1 to 9.2.
set(tslab_branches)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
    set(flag -mbranches-within-32B-boundaries)
    if(CMAKE_C_COMPILER_ID STREQUAL GNU)
        set(flag -Wa,${flag})
    endif()
    check_c_compiler_flag(${flag} tslab_has_branches)
    if(tslab_has_branches)
        set(tslab_branches ${flag})
    endif()
endif()

# tslab_library(name SHARED|STATIC checked sources...): a library of the engine.
function(tslab_library name kind checked)
    add_library(${name} ${kind} ${ARGN})
    tslab_compile_library(${name} ${checked} 0)
    if(kind STREQUAL SHARED)
        target_link_options(${name} PRIVATE LINKER:--version-script=${tslab_symbol_versions})
        # Never unloaded: threads hold pointers into the library until they exit.
        target_link_options(${name} PRIVATE LINKER:-z,nodelete,-z,now,-z,relro)
        # The unwinder is inside (src/os/call_stack.h): no program loads another library for it.
        target_link_options(${name} PRIVATE -static-libgcc LINKER:--wrap=_dl_find_object)
        if(TSLAB_SANITIZE STREQUAL none)
            target_link_options(${name} PRIVATE LINKER:-z,defs)
        endif()
        if(tslab_order)
            # What the compiler has put into its callers everywhere is left out.
            target_link_options(${name} PRIVATE LINKER:-T,${tslab_order} LINKER:--gc-sections)
        endif()
        set_target_properties(${name} PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${tslab_interface_version}
                                                LINK_DEPENDS "${tslab_symbol_versions};${tslab_order}")
    endif()
endfunction()

# The compiler could see for itself that the header is there. But what it compiled without would stay so when the header comes.
string(TOLOWER "${TSLAB_PROBES}" tslab_probes)
if(tslab_probes STREQUAL auto)
    unset(tslab_has_probes CACHE)
    set(CMAKE_REQUIRED_QUIET ON)
    check_include_file(sys/sdt.h tslab_has_probes)
    unset(CMAKE_REQUIRED_QUIET)
    set(tslab_probes ${tslab_has_probes})
elseif(NOT tslab_probes MATCHES "^(on|off|0|1)$")
    message(FATAL_ERROR "TSLAB_PROBES is auto, on or off, not '${TSLAB_PROBES}'.")
endif()

function(tslab_compile_library name checked sim)
    target_include_directories(
        ${name}
        PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
        PRIVATE ${PROJECT_SOURCE_DIR}/src)
    if(NOT sim)
        target_compile_definitions(${name} PRIVATE TSLAB_PROBES=$<BOOL:${tslab_probes}>)
    endif()
    target_compile_definitions(${name} PRIVATE TSLAB_CHECKED=${checked} TSLAB_SIM=${sim} TSLAB_WRAPS=1)
    # Calls among our own functions are direct: nobody may put himself between malloc and tslab_malloc.
    target_compile_options(
        ${name} PRIVATE -fno-semantic-interposition -ffunction-sections -fdata-sections ${tslab_same_bytes} ${tslab_branches}
                        ${tslab_library_warnings} ${tslab_coverage})
    # Older versions of glibc have threads and the dynamic loader in libraries of their own.
    if(TSLAB_SANITIZE STREQUAL none)
        target_link_libraries(${name} PRIVATE -pthread ${CMAKE_DL_LIBS})
    endif()
    # What has the code has the counters' run-time library, and nothing else has: without counters it would complain.
    if(TSLAB_COVERAGE)
        get_target_property(kind ${name} TYPE)
        if(kind STREQUAL STATIC_LIBRARY)
            target_link_options(${name} INTERFACE -fprofile-instr-generate)
        else()
            target_link_options(${name} PRIVATE -fprofile-instr-generate)
        endif()
    endif()
    # A batch size of 0 puts all sources into one translation unit. The compile commands name each source once (the drop-in has
    # them all), so that tools that read them do no work twice.
    set_target_properties(
        ${name} PROPERTIES C_VISIBILITY_PRESET hidden UNITY_BUILD_BATCH_SIZE 0 EXPORT_COMPILE_COMMANDS OFF)
endfunction()

# tslab_dropin(name): what a library needs that defines the names of libc. The compiler must not assume to know what they do (it
# would turn the malloc and memset inside calloc into a call of calloc), and the C++ operators are left by exceptions.
function(tslab_dropin name)
    set(names malloc calloc realloc free aligned_alloc memalign posix_memalign valloc pvalloc reallocarray)
    list(TRANSFORM names PREPEND -fno-builtin-)
    target_compile_options(${name} PRIVATE ${names} -fexceptions)
    get_target_property(type ${name} TYPE)
    if(type STREQUAL STATIC_LIBRARY)
        target_compile_definitions(${name} PRIVATE TSLAB_LINKED_IN=1)
        # A program that is linked with the drop-in wants it even if the program itself never calls malloc.
        target_link_options(${name} INTERFACE LINKER:-u,malloc)
    else()
        target_compile_definitions(${name} PRIVATE TSLAB_LINKED_IN=0)
        # Its fork handlers have to be the first that are registered: it is initialised before all other libraries.
        target_link_options(${name} PRIVATE LINKER:-z,initfirst)
        target_link_options(${name} INTERFACE LINKER:--no-as-needed)
    endif()
    set_target_properties(${name} PROPERTIES EXPORT_COMPILE_COMMANDS ON)
endfunction()

# tslab_localize(name): internal names of a static library of one translation unit cannot clash with those of the program.
function(tslab_localize name)
    add_custom_command(
        TARGET ${name}
        POST_BUILD
        COMMAND ${CMAKE_OBJCOPY} --localize-hidden $<TARGET_FILE:${name}>
        VERBATIM)
endfunction()
