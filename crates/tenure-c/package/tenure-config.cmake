# find_package(tenure): the targets tenure::tenure (shared) and tenure::static.
get_filename_component(_tenure "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

if(NOT TARGET tenure::tenure)
  add_library(tenure::tenure SHARED IMPORTED)
  set_target_properties(tenure::tenure PROPERTIES
    IMPORTED_LOCATION "${_tenure}/lib/libtenure.so"
    IMPORTED_NO_SONAME TRUE
    INTERFACE_INCLUDE_DIRECTORIES "${_tenure}/include")

  add_library(tenure::static STATIC IMPORTED)
  set_target_properties(tenure::static PROPERTIES
    IMPORTED_LOCATION "${_tenure}/lib/libtenure.a"
    INTERFACE_INCLUDE_DIRECTORIES "${_tenure}/include"
    INTERFACE_LINK_LIBRARIES "pthread;dl;m;gcc_s")
endif()

unset(_tenure)
