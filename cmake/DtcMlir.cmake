# Finds Debian's MLIR 22 and offers the helpers of the compiler's folders.
# Everything links the two shared objects libMLIR and libLLVM, never the static archives.

find_package(MLIR 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)

add_library(dtc_mlir INTERFACE)
target_link_libraries(dtc_mlir INTERFACE dtc_flags MLIR LLVM)
target_include_directories(dtc_mlir SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
separate_arguments(dtc_llvm_definitions NATIVE_COMMAND ${LLVM_DEFINITIONS})
target_compile_options(dtc_mlir INTERFACE ${dtc_llvm_definitions})

# The one precompiled header of the compiler: headers, not optimisation, dominate compile time.
add_library(dtc_pch OBJECT ${PROJECT_SOURCE_DIR}/cmake/MlirPch.cpp)
target_link_libraries(dtc_pch PUBLIC dtc_mlir)
target_precompile_headers(dtc_pch PRIVATE ${PROJECT_SOURCE_DIR}/cmake/MlirPch.h)
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  target_compile_options(dtc_mlir INTERFACE "SHELL:-Xclang -fno-pch-timestamp")
endif()

# dtc_tablegen(TARGET file.td  out.inc "flags" [out.inc "flags"]...)
# Generates the .inc files beside the binary directory's mirror of the source folder.
function(dtc_tablegen target td)
  set(LLVM_TARGET_DEFINITIONS ${td})
  set(outputs ${ARGN})
  while(outputs)
    list(POP_FRONT outputs out flags)
    separate_arguments(flag_list NATIVE_COMMAND "${flags}")
    mlir_tablegen(${out} ${flag_list} EXTRA_INCLUDES ${PROJECT_SOURCE_DIR} ${MLIR_INCLUDE_DIRS})
  endwhile()
  add_public_tablegen_target(${target})
endfunction()

# dtc_add_compiler_library(NAME SOURCES a.cpp... [LINK lib...] [TABLEGEN target...])
function(dtc_add_compiler_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK;TABLEGEN" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC dtc_mlir ${ARG_LINK})
  dtc_use_pch(${name})
  set_target_properties(${name} PROPERTIES DTC_COMPILER TRUE) # read by dtc_add_unit_test
  if(ARG_TABLEGEN)
    add_dependencies(${name} ${ARG_TABLEGEN})
  endif()
endfunction()

# dtc_use_pch(NAME): lets a target share the precompiled header. Libraries are compiled with -fPIC, and clang takes a
# precompiled header only for the same kind of code, so programs are compiled so too, not with CMake's -fPIE.
function(dtc_use_pch name)
  target_precompile_headers(${name} REUSE_FROM dtc_pch)
  get_target_property(type ${name} TYPE)
  if(type STREQUAL EXECUTABLE)
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${name} PRIVATE -fPIC)
  endif()
endfunction()

# dtc_add_compiler_tool(NAME SOURCES a.cpp... [LINK lib...]): a program in build/bin.
function(dtc_add_compiler_tool name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} dtc_mlir)
  dtc_use_pch(${name})
endfunction()
