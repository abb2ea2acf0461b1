# Flags and helpers that runtime and compiler share.
include(DtcUnity)

add_library(dtc_flags INTERFACE)
target_include_directories(dtc_flags INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
target_compile_options(dtc_flags INTERFACE -Wall -Wextra -Wno-unused-parameter)
if(DTC_WERROR)
  target_compile_options(dtc_flags INTERFACE -Werror)
endif()
if(DTC_SANITIZE)
  target_compile_options(dtc_flags INTERFACE -fsanitize=${DTC_SANITIZE} -fno-omit-frame-pointer
                                             -fno-sanitize-recover=all)
  # The runtime has no RTTI, so this check has nothing to read.
  if(DTC_SANITIZE MATCHES undefined)
    target_compile_options(dtc_flags INTERFACE -fno-sanitize=vptr)
  endif()
  target_link_options(dtc_flags INTERFACE -fsanitize=${DTC_SANITIZE})
  target_sources(dtc_flags INTERFACE ${PROJECT_SOURCE_DIR}/cmake/LeakCheck.cpp)
endif()
# A precompiled header that is made again from the same text is the same file, so ccache finds what
# was compiled with it.
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  target_compile_options(dtc_flags INTERFACE "SHELL:-Xclang -fno-pch-timestamp")
endif()

# dtc_add_pch(NAME HEADER [OPTIONS flag...] [LINK lib...] [DEPENDS target...])
# cmake/HEADER, precompiled once for all targets that name it with dtc_use_pch and have the same
# flags. Headers take most of the time of a file, so a layer's header contains what its files nearly
# always include, but nothing that changes often.
function(dtc_add_pch name header)
  cmake_parse_arguments(ARG "" "" "OPTIONS;LINK;DEPENDS" ${ARGN})
  add_library(${name} OBJECT ${PROJECT_SOURCE_DIR}/cmake/Pch.cpp)
  target_link_libraries(${name} PUBLIC dtc_flags ${ARG_LINK})
  target_compile_options(${name} PRIVATE ${ARG_OPTIONS})
  target_precompile_headers(${name} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/${header})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  # A precompiled header knows the sizes of its files. Where a file has changed, ccache compares
  # what the preprocessor makes of it, which by default has no comments: without this, a header with
  # another comment would get the precompiled one of before, which the compiler then refuses.
  if(CMAKE_CXX_COMPILER_LAUNCHER MATCHES ccache)
    set_target_properties(${name} PROPERTIES
      CXX_COMPILER_LAUNCHER "env;CCACHE_COMMENTS=1;${CMAKE_CXX_COMPILER_LAUNCHER}")
  endif()
endfunction()

# dtc_use_pch(NAME PCH): lets a target share a precompiled header. Libraries are compiled with
# -fPIC, and clang accepts a precompiled header only for the same kind of code, so programs are
# compiled with -fPIC, too, instead of CMake's -fPIE.
function(dtc_use_pch name pch)
  target_precompile_headers(${name} REUSE_FROM ${pch})
  get_target_property(type ${name} TYPE)
  if(type STREQUAL EXECUTABLE)
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${name} PRIVATE -fPIC)
  endif()
endfunction()

# dtc_any_has(OUT PROPERTY lib...): OUT is true if one of the targets among the libraries has the
# property.
function(dtc_any_has out property)
  set(${out} FALSE PARENT_SCOPE)
  foreach(library IN LISTS ARGN)
    if(TARGET ${library})
      get_target_property(has ${library} ${property})
      if(has)
        set(${out} TRUE PARENT_SCOPE)
      endif()
    endif()
  endforeach()
endfunction()

set(dtc_runtime_options -fno-exceptions -fno-rtti)
# Includes the format of programs, so it is for targets above it. DtcFormatHeader is for
# runtime/format.
dtc_add_pch(dtc_runtime_pch RuntimePch.h OPTIONS ${dtc_runtime_options} DEPENDS DtcFormatHeader)
# Optimizing GoogleTest's macros takes more time than running what they check, except for tests that
# compute much themselves (OPTIMIZED below). Both share a precompiled header, which clang would
# refuse only because of the level of optimization.
set(dtc_test_options -O0 -Xclang -fno-validate-pch)
if(DTC_BUILD_TESTS)
  dtc_add_pch(dtc_runtime_test_pch RuntimeTestPch.h LINK GTest::gtest DEPENDS DtcFormatHeader)
endif()

# dtc_add_runtime_library(NAME SOURCES a.cpp... [LINK lib...])
# A library of the runtime: no exceptions, no RTTI, no LLVM.
function(dtc_add_runtime_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC dtc_flags ${ARG_LINK})
  target_compile_options(${name} PRIVATE ${dtc_runtime_options})
  dtc_unity(${name})
  dtc_any_has(above_format DTC_ABOVE_FORMAT ${ARG_LINK})
  if(above_format OR name STREQUAL DtcFormat)
    set_target_properties(${name} PROPERTIES DTC_ABOVE_FORMAT TRUE)
    dtc_use_pch(${name} dtc_runtime_pch)
  endif()
endfunction()

option(DTC_TEST_EACH_CASE "Give each case of a unit test a process and a ctest test of its own" ON)

# dtc_add_unit_test(NAME SOURCES a.cpp... [LINK lib...] [OPTIMIZED] [LONG] [SHARDS count])
# One GoogleTest program in build/test. Its cases become ctest tests named NAME.Suite.Case. Without
# DTC_TEST_EACH_CASE the program is one ctest test NAME, which starts faster and lets its cases
# share what they compile. With SHARDS it is that many tests NAME.0, NAME.1, ..., which run in
# parallel.
# OPTIMIZED: the program is compiled with the flags of the libraries. LONG: `tools/test.sh --quick`
# leaves it out.
# A test of a compiler library shares the precompiled header of such tests, and any other test that
# of the runtime's tests.
function(dtc_add_unit_test name)
  if(NOT DTC_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "OPTIMIZED;LONG" "SHARDS" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} dtc_flags GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
  set_property(GLOBAL APPEND PROPERTY DTC_TEST_TARGETS ${name})
  get_filename_component(area ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  set_property(GLOBAL APPEND PROPERTY DTC_UNIT_TESTS_OF_${area} ${name})
  dtc_unity(${name})
  if(NOT ARG_OPTIMIZED)
    target_compile_options(${name} PRIVATE ${dtc_test_options})
  endif()
  dtc_any_has(of_compiler DTC_COMPILER ${ARG_LINK})
  if(of_compiler)
    dtc_use_pch(${name} dtc_compiler_test_pch)
  else()
    dtc_use_pch(${name} dtc_runtime_test_pch)
  endif()
  set(labels "")
  if(ARG_LONG)
    set(labels LABELS long)
  endif()
  if(DTC_TEST_EACH_CASE)
    # Cases are listed when ctest starts: a program that cannot start fails as a test, not as a build.
    gtest_discover_tests(${name} TEST_PREFIX ${name}. DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
                         PROPERTIES TIMEOUT 600 ${labels})
  elseif(ARG_SHARDS)
    math(EXPR last "${ARG_SHARDS} - 1")
    foreach(shard RANGE ${last})
      add_test(NAME ${name}.${shard} COMMAND ${name} --gtest_brief=1)
      # COST is in seconds, so that the test starts early.
      set_tests_properties(${name}.${shard} PROPERTIES TIMEOUT 1200 ${labels} COST 500
                           ENVIRONMENT "GTEST_TOTAL_SHARDS=${ARG_SHARDS};GTEST_SHARD_INDEX=${shard}")
    endforeach()
  else()
    add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
    set_tests_properties(${name} PROPERTIES TIMEOUT 1200 ${labels})
  endif()
endfunction()

# dtc_for_packages(TARGET): a program of a package finds the package's libraries in ../lib/dtc, also
# those that its libraries and plugins need: unlike a runpath, an rpath is for all of them.
function(dtc_for_packages name)
  target_link_options(${name} PRIVATE -Wl,--gc-sections -Wl,--strip-all -Wl,--disable-new-dtags)
  set_target_properties(${name} PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH_USE_LINK_PATH OFF
                        INSTALL_RPATH "$ORIGIN/../lib/dtc")
endfunction()
