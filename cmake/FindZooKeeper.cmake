# Finds libzookeeper_mt, which comes with neither pkg-config nor CMake files.
# Defines the target ZooKeeper::zookeeper_mt.
# Not from the cache: a build that is configured again with another ZooKeeper_ROOT would keep the library that it has.
find_path(ZooKeeper_INCLUDE_DIR zookeeper/zookeeper.h NO_CACHE)
find_library(ZooKeeper_LIBRARY zookeeper_mt NO_CACHE)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ZooKeeper REQUIRED_VARS ZooKeeper_LIBRARY ZooKeeper_INCLUDE_DIR
    REASON_FAILURE_MESSAGE "Debian has it in libzookeeper-mt-dev.")
if(ZooKeeper_FOUND AND NOT TARGET ZooKeeper::zookeeper_mt)
    find_package(Threads REQUIRED)
    add_library(ZooKeeper::zookeeper_mt UNKNOWN IMPORTED)
    set_target_properties(ZooKeeper::zookeeper_mt PROPERTIES
        IMPORTED_LOCATION ${ZooKeeper_LIBRARY}
        INTERFACE_INCLUDE_DIRECTORIES ${ZooKeeper_INCLUDE_DIR}
        # Its headers declare the functions of the threaded library only then.
        INTERFACE_COMPILE_DEFINITIONS THREADED
        INTERFACE_LINK_LIBRARIES "Threads::Threads;m")
endif()
