# Finds libzookeeper_mt, which comes with neither pkg-config nor CMake files.
# Defines the target ZooKeeper::zookeeper_mt.
find_path(ZooKeeper_INCLUDE_DIR zookeeper/zookeeper.h)
find_library(ZooKeeper_LIBRARY zookeeper_mt)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ZooKeeper REQUIRED_VARS ZooKeeper_LIBRARY ZooKeeper_INCLUDE_DIR)
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
mark_as_advanced(ZooKeeper_INCLUDE_DIR ZooKeeper_LIBRARY)
