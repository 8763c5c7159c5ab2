# Finds libmd, which has SHA-1. Defines the target Libmd::md.
find_path(Libmd_INCLUDE_DIR sha1.h)
find_library(Libmd_LIBRARY md)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Libmd REQUIRED_VARS Libmd_LIBRARY Libmd_INCLUDE_DIR
    REASON_FAILURE_MESSAGE "Debian has it in libmd-dev.")
if(Libmd_FOUND AND NOT TARGET Libmd::md)
    add_library(Libmd::md UNKNOWN IMPORTED)
    set_target_properties(Libmd::md PROPERTIES
        IMPORTED_LOCATION ${Libmd_LIBRARY}
        INTERFACE_INCLUDE_DIRECTORIES ${Libmd_INCLUDE_DIR})
endif()
mark_as_advanced(Libmd_INCLUDE_DIR Libmd_LIBRARY)
