# How our own code is compiled: with all warnings, sanitizers and unity by option.
function(tenure_compile target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${TENURE_UNITY})
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor
                                           -Woverloaded-virtual $<$<BOOL:${TENURE_WERROR}>:-Werror>
                                           -fno-omit-frame-pointer)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ 12 reports these inside the standard library's own inlined code.
    target_compile_options(${target} PRIVATE -Wno-error=maybe-uninitialized -Wno-restrict -Wno-stringop-overflow
                                             -Wno-array-bounds -Wno-dangling-pointer)
    # g++ 12 leaves the cold part of some functions empty. Its entry in the table of frames then stands at the address of
    # another function's, the linker keeps one of the two, and an exception that passes the other function ends the
    # process.
    target_compile_options(${target} PRIVATE -fno-reorder-blocks-and-partition)
    # A large file takes 2 instead of 1.6 GB, and a seventh less time.
    target_compile_options(${target} PRIVATE --param=ggc-min-heapsize=700000 --param=ggc-min-expand=200)
  endif()
  if(TENURE_SANITIZE)
    target_compile_options(${target} PUBLIC -fsanitize=${TENURE_SANITIZE} -fno-sanitize-recover=all)
    target_link_options(${target} PUBLIC -fsanitize=${TENURE_SANITIZE})
    if(TENURE_SANITIZE MATCHES undefined)
      # These look at every pointer and take half of the time to compile; what uses a null one crashes all the same.
      target_compile_options(${target} PUBLIC -fno-sanitize=null,alignment,object-size)
    endif()
    if(TENURE_SANITIZE MATCHES thread AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # Asio uses fences, which g++'s thread sanitizer does not follow; it only says so.
      target_compile_options(${target} PRIVATE -Wno-tsan)
    endif()
  endif()
endfunction()

# A test program: the optimiser would take longer than it saves. All of them share one precompiled header.
function(tenure_compile_test target)
  tenure_compile(${target})
  target_compile_options(${target} PRIVATE -O0)
  target_link_libraries(${target} PRIVATE tenure_test_support)
  get_property(first GLOBAL PROPERTY TENURE_TEST_HEADERS)
  if(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
  else()
    target_precompile_headers(${target} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/standard.hpp <gtest/gtest.h> <gmock/gmock.h>)
    set_property(GLOBAL PROPERTY TENURE_TEST_HEADERS ${target})
  endif()
endfunction()

# Which files of a library or a test program are compiled together: those of a room, some sixteen at a time, since what a
# room's headers instantiate costs more than its files. A file's name decides, so that a file that is added or removed
# leaves the other groups, and what the compiler's cache knows of them, as they are.
function(tenure_unite target)
  get_target_property(sources ${target} SOURCES)
  foreach(source ${sources})
    get_filename_component(room ${source} ABSOLUTE)
    get_filename_component(room ${room} DIRECTORY)
    file(RELATIVE_PATH room ${PROJECT_SOURCE_DIR} ${room})
    string(MAKE_C_IDENTIFIER ${room} room)
    list(APPEND rooms ${room})
    list(APPEND files_${room} ${source})
  endforeach()
  list(REMOVE_DUPLICATES rooms)
  foreach(room ${rooms})
    list(LENGTH files_${room} count)
    set(groups 1)
    while(count GREATER 24)
      math(EXPR groups "${groups} * 2")
      math(EXPR count "${count} / 2")
    endwhile()
    foreach(source ${files_${room}})
      get_filename_component(name ${source} NAME)
      string(MD5 hash ${name})
      string(SUBSTRING ${hash} 0 4 hash)
      math(EXPR group "0x${hash} % ${groups}")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${target}_${room}_${group})
    endforeach()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
endfunction()

# The standard library's headers, compiled once for all that is compiled alike: with no other definitions than these have.
function(tenure_standard_headers target)
  get_property(first GLOBAL PROPERTY TENURE_STANDARD_HEADERS)
  if(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
  else()
    target_precompile_headers(${target} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/standard.hpp)
    set_property(GLOBAL PROPERTY TENURE_STANDARD_HEADERS ${target})
  endif()
endfunction()

# tenure_component(name ROOMS folders of src/ CLIENTS what only it links): the library tenure::<name>.
function(tenure_component name)
  cmake_parse_arguments(PARSE_ARGV 1 component "" "" "ROOMS;CLIENTS")
  list(TRANSFORM component_ROOMS PREPEND src/)
  list(TRANSFORM component_ROOMS APPEND /*.cpp)
  file(GLOB sources CONFIGURE_DEPENDS ${component_ROOMS})
  add_library(tenure_${name} STATIC ${sources})
  add_library(tenure::${name} ALIAS tenure_${name})
  set_target_properties(tenure_${name} PROPERTIES EXPORT_NAME ${name})
  tenure_compile(tenure_${name})
  tenure_unite(tenure_${name})
  target_include_directories(tenure_${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(tenure_${name} PRIVATE ${component_CLIENTS})
  if(name MATCHES "^(core|redis)$")  # spdlog and hiredis bring definitions of their own
    target_precompile_headers(tenure_${name} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/standard.hpp)
  else()
    tenure_standard_headers(tenure_${name})
  endif()
  if(NOT name STREQUAL "core")
    target_link_libraries(tenure_${name} PUBLIC tenure_core)
  endif()
  install(TARGETS tenure_${name} EXPORT tenure-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()
