# Flags and helpers that runtime and compiler share.

add_library(dtc_flags INTERFACE)
target_include_directories(dtc_flags INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
target_compile_options(dtc_flags INTERFACE -Wall -Wextra -Wno-unused-parameter)
if(DTC_WERROR)
  target_compile_options(dtc_flags INTERFACE -Werror)
endif()
if(DTC_SANITIZE)
  target_compile_options(dtc_flags INTERFACE -fsanitize=${DTC_SANITIZE} -fno-omit-frame-pointer
                                             -fno-sanitize-recover=all)
  # The runtime has no RTTI, so there is nothing that this check could read.
  if(DTC_SANITIZE MATCHES undefined)
    target_compile_options(dtc_flags INTERFACE -fno-sanitize=vptr)
  endif()
  target_link_options(dtc_flags INTERFACE -fsanitize=${DTC_SANITIZE})
  target_sources(dtc_flags INTERFACE ${PROJECT_SOURCE_DIR}/cmake/LeakCheck.cpp)
endif()

# dtc_add_runtime_library(NAME SOURCES a.cpp... [LINK lib...])
# A library of the runtime: no exceptions, no RTTI, nothing of LLVM.
function(dtc_add_runtime_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC dtc_flags ${ARG_LINK})
  target_compile_options(${name} PRIVATE -fno-exceptions -fno-rtti)
endfunction()

# dtc_add_unit_test(NAME SOURCES a.cpp... [LINK lib...])
# One GoogleTest program in build/test; its cases become ctest tests named NAME.Suite.Case.
# A test of a compiler library shares the compiler's precompiled header.
function(dtc_add_unit_test name)
  if(NOT DTC_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} dtc_flags GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
  set_property(GLOBAL APPEND PROPERTY DTC_TEST_TARGETS ${name})
  foreach(library IN LISTS ARG_LINK)
    if(TARGET ${library})
      get_target_property(is_compiler ${library} DTC_COMPILER)
      if(is_compiler)
        dtc_use_pch(${name})
        break()
      endif()
    endif()
  endforeach()
  # Cases are listed when ctest starts: a program that cannot start fails as a test, not as a build.
  gtest_discover_tests(${name} TEST_PREFIX ${name}. DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
                       PROPERTIES TIMEOUT 600)
endfunction()
