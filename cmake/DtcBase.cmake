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
  target_link_options(dtc_flags INTERFACE -fsanitize=${DTC_SANITIZE})
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
# One GoogleTest program; its cases become ctest tests named NAME.Suite.Case.
function(dtc_add_unit_test name)
  if(NOT DTC_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} dtc_flags GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
  set_property(GLOBAL APPEND PROPERTY DTC_TEST_TARGETS ${name})
  add_test(NAME ${name} COMMAND ${name})
endfunction()
