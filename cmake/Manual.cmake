# The manual's pages on the library. They are written from the headers, docs/ and examples/ at each build, so that they
# are never older than these. Whoever builds without Python gets all but them.
find_package(Python3 QUIET COMPONENTS Interpreter)
set(default OFF)
if(PROJECT_IS_TOP_LEVEL AND Python3_Interpreter_FOUND)
    set(default ON)
endif()
option(ZKLOCK_MANUAL "Make the manual's pages on the library; wants Python 3" ${default})
if(ZKLOCK_MANUAL AND NOT Python3_Interpreter_FOUND)
    message(FATAL_ERROR "ZKLOCK_MANUAL: Python 3 was not found; Debian has it in python3")
endif()
message(STATUS "Manual pages on the library (ZKLOCK_MANUAL): ${ZKLOCK_MANUAL}")

# The copy in which mutants are tried has no documentation.
if(ZKLOCK_MANUAL AND EXISTS ${PROJECT_SOURCE_DIR}/docs/statuses.md)
    set(manual ${PROJECT_BINARY_DIR}/manual)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/zklock/*.h
         ${PROJECT_SOURCE_DIR}/tools/manual/*.py ${PROJECT_SOURCE_DIR}/examples/*.c)
    list(APPEND sources ${PROJECT_SOURCE_DIR}/tools/build-manual ${PROJECT_SOURCE_DIR}/docs/statuses.md
         ${PROJECT_SOURCE_DIR}/docs/guarantees.md ${PROJECT_SOURCE_DIR}/README.md
         ${PROJECT_SOURCE_DIR}/command/man/zklock.1)
    add_custom_command(OUTPUT ${manual}.stamp
        COMMAND ${CMAKE_COMMAND} -E rm -rf ${manual}
        COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tools/build-manual ${manual}
        COMMAND ${CMAKE_COMMAND} -E touch ${manual}.stamp
        DEPENDS ${sources} COMMENT "Writing the manual" VERBATIM)
    add_custom_target(zklock_manual ALL DEPENDS ${manual}.stamp)
    if(ZKLOCK_INSTALL)
        install(DIRECTORY ${manual}/ DESTINATION ${CMAKE_INSTALL_MANDIR})
    endif()
endif()
