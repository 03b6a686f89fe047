# The CMake package of fullpipe: targets fullpipe::static and fullpipe::shared.

get_filename_component(FULLPIPE_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
find_package(Threads REQUIRED)

if(NOT TARGET fullpipe::static)
  add_library(fullpipe::static STATIC IMPORTED)
  set_target_properties(fullpipe::static PROPERTIES
    IMPORTED_LOCATION "${FULLPIPE_PREFIX}/lib/libfullpipe.a"
    INTERFACE_INCLUDE_DIRECTORIES "${FULLPIPE_PREFIX}/include"
    INTERFACE_LINK_LIBRARIES "Threads::Threads;${CMAKE_DL_LIBS};m")
  add_library(fullpipe::shared SHARED IMPORTED)
  set_target_properties(fullpipe::shared PROPERTIES
    IMPORTED_LOCATION "${FULLPIPE_PREFIX}/lib/libfullpipe.so"
    IMPORTED_SONAME "libfullpipe.so.0"
    INTERFACE_INCLUDE_DIRECTORIES "${FULLPIPE_PREFIX}/include")
endif()
set(fullpipe_FOUND TRUE)
