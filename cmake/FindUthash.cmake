# Finds uthash, which is headers only. Sets UTHASH_INCLUDE_DIR.
find_path(UTHASH_INCLUDE_DIR uthash.h)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Uthash REQUIRED_VARS UTHASH_INCLUDE_DIR
    REASON_FAILURE_MESSAGE "Debian has it in uthash-dev.")
mark_as_advanced(UTHASH_INCLUDE_DIR)
