# What `cmake --install` puts where. The pkg-config files find their prefix from where they lie, as the CMake package does, so
# that the prefix can be chosen when installing.

include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tslab)
set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(TARGETS ${tslab_libraries} EXPORT tslab-targets)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/tslab TYPE INCLUDE FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")

install(EXPORT tslab-targets NAMESPACE tslab:: DESTINATION ${package_dir})
configure_package_config_file(
    ${PROJECT_SOURCE_DIR}/cmake/tslab-config.cmake.in ${PROJECT_BINARY_DIR}/tslab-config.cmake
    INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tslab-config-version.cmake COMPATIBILITY ${tslab_compatibility})
install(FILES ${PROJECT_BINARY_DIR}/tslab-config.cmake ${PROJECT_BINARY_DIR}/tslab-config-version.cmake
        DESTINATION ${package_dir})

# A page of what a process does and when, by bpftrace (docs/tracing.md).
install(PROGRAMS ${PROJECT_SOURCE_DIR}/tools/tslab-timeline TYPE BIN)

# Where directories lie to each other; packagers may give them as absolute paths.
file(RELATIVE_PATH pkgconfig_to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
file(RELATIVE_PATH libdir ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH includedir ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
string(REGEX REPLACE "/$" "" pkgconfig_to_prefix "${pkgconfig_to_prefix}")
# The files of the checked libraries differ in the names of the libraries alone.
macro(tslab_pkg_config suffix note)
    set(checked "${suffix}")
    set(checked_note "${note}")
    set(names tslab)
    if(TSLAB_DROPIN)
        list(APPEND names tslab-malloc)
    endif()
    foreach(name IN LISTS names)
        set(file ${PROJECT_BINARY_DIR}/${name}${checked}.pc)
        configure_file(${PROJECT_SOURCE_DIR}/cmake/${name}.pc.in ${file} @ONLY)
        install(FILES ${file} DESTINATION ${pkgconfig_dir})
    endforeach()
endmacro()
tslab_pkg_config("" "")
if(checked_libraries)
    tslab_pkg_config(-checked ", that ends the program at misuse of memory")
endif()

if(TSLAB_DROPIN)
    file(RELATIVE_PATH run_to_libdir ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tools/tslab
                                           ${PROJECT_SOURCE_DIR}/tools/tslab_tools/tslab-run)
    file(READ ${PROJECT_SOURCE_DIR}/tools/tslab_tools/tslab-run launcher)
    string(REGEX REPLACE "\nlibraries=[^\n]*" "\nlibraries=${run_to_libdir} suffix=.${tslab_interface_version} version=${PROJECT_VERSION}"
                         launcher "${launcher}")
    file(WRITE ${PROJECT_BINARY_DIR}/tslab-run "${launcher}")
    install(PROGRAMS ${PROJECT_BINARY_DIR}/tslab-run TYPE BIN)

    # The command `tslab` finds its package from where it lies.
    file(RELATIVE_PATH run_to_data ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_DATADIR}/tslab)
    file(READ ${PROJECT_SOURCE_DIR}/tools/tslab launcher)
    string(REPLACE ../share/tslab ${run_to_data} launcher "${launcher}")
    file(WRITE ${PROJECT_BINARY_DIR}/tslab "${launcher}")
    install(PROGRAMS ${PROJECT_BINARY_DIR}/tslab TYPE BIN)
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/tools/tslab_tools ${PROJECT_SOURCE_DIR}/packaging/monitoring
            DESTINATION ${CMAKE_INSTALL_DATADIR}/tslab USE_SOURCE_PERMISSIONS PATTERN __pycache__ EXCLUDE)
endif()

# The manual pages and the completions of shells are made of the sources, where Python is there.
find_program(TSLAB_PYTHON python3 HINTS /usr/bin) # the system's has what the help of the command needs
if(TSLAB_PYTHON)
    file(GLOB commands ${PROJECT_SOURCE_DIR}/tools/tslab_tools/commands/*.py)
    set_property(
        DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tools/manual.py ${PROJECT_SOURCE_DIR}/tools/completions.py ${PROJECT_SOURCE_DIR}/tools/options.py ${PROJECT_SOURCE_DIR}/src/common/option.h
                                  ${PROJECT_SOURCE_DIR}/tools/tslab_tools/cli.py ${commands})
    execute_process(
        COMMAND ${TSLAB_PYTHON} -B ${PROJECT_SOURCE_DIR}/tools/manual.py ${PROJECT_BINARY_DIR}/man
        WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} RESULT_VARIABLE failed)
    if(NOT failed)
        install(DIRECTORY ${PROJECT_BINARY_DIR}/man/man3 DESTINATION ${CMAKE_INSTALL_MANDIR})
        if(TSLAB_DROPIN)
            install(DIRECTORY ${PROJECT_BINARY_DIR}/man/man1 DESTINATION ${CMAKE_INSTALL_MANDIR})
        endif()
    endif()
    execute_process(
        COMMAND ${TSLAB_PYTHON} -B -c "import rich" RESULT_VARIABLE lacks_rich ERROR_QUIET)
    if(TSLAB_DROPIN AND NOT lacks_rich)
        execute_process(
            COMMAND ${TSLAB_PYTHON} -B ${PROJECT_SOURCE_DIR}/tools/completions.py ${PROJECT_BINARY_DIR}/completions
            RESULT_VARIABLE failed)
        if(NOT failed)
            install(DIRECTORY ${PROJECT_BINARY_DIR}/completions/ DESTINATION ${CMAKE_INSTALL_DATADIR})
        endif()
    endif()
endif()

# What nobody knows who sees "cannot open shared object file" for the first time.
if(tslab_is_whole)
    install(CODE "set(tslab_libdir \"${libdir}\")")
    install(SCRIPT ${PROJECT_SOURCE_DIR}/cmake/TslabInstalled.cmake)
    add_custom_target(
        uninstall
        COMMAND ${CMAKE_COMMAND} -D manifest=${PROJECT_BINARY_DIR}/install_manifest.txt
                -P ${PROJECT_SOURCE_DIR}/cmake/TslabUninstall.cmake
        VERBATIM)
endif()
