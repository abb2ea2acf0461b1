# Finds Debian's MLIR 22 and defines the helpers of the compiler's folders. Everything links the two
# shared objects libMLIR and libLLVM, but for targets with the property DTC_STATIC_LLVM: those are
# for machines without LLVM, and link its static archives.

find_package(MLIR 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)

# The linker takes from the archives what is used.
file(GLOB dtc_llvm_archives ${LLVM_LIBRARY_DIR}/libMLIR*.a ${LLVM_LIBRARY_DIR}/libLLVM*.a)
add_library(dtc_llvm_static INTERFACE)
target_link_libraries(dtc_llvm_static INTERFACE ${dtc_llvm_archives} z zstd rt dl m)

add_library(dtc_mlir INTERFACE)
target_link_libraries(dtc_mlir INTERFACE dtc_flags
  "$<IF:$<BOOL:$<TARGET_PROPERTY:DTC_STATIC_LLVM>>,dtc_llvm_static,MLIR;LLVM>")
target_include_directories(dtc_mlir SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
separate_arguments(dtc_llvm_definitions NATIVE_COMMAND ${LLVM_DEFINITIONS})
target_compile_options(dtc_mlir INTERFACE ${dtc_llvm_definitions})

# Used for the compiler, for libraries that use the dialects, and for tests of both.
dtc_add_pch(dtc_mlir_pch MlirPch.h LINK dtc_mlir)
dtc_add_pch(dtc_graph_pch GraphPch.h LINK dtc_mlir DEPENDS DtcGraphAllIncGen DtcExecAllIncGen)
if(DTC_BUILD_TESTS)
  dtc_add_pch(dtc_compiler_test_pch CompilerTestPch.h LINK dtc_mlir GTest::gtest
              DEPENDS DtcGraphAllIncGen DtcExecAllIncGen)
endif()

# dtc_use_compiler_pch(NAME lib...): uses the header with the dialects if the target is a dialect or
# links one, directly or through DtcPlacement, whose headers include it.
function(dtc_use_compiler_pch name)
  set(pch dtc_mlir_pch)
  foreach(library IN LISTS name ARGN)
    if(library MATCHES "^Dtc((Graph|Exec)Dialect|Placement)$")
      set(pch dtc_graph_pch)
    endif()
  endforeach()
  dtc_use_pch(${name} ${pch})
endfunction()

# dtc_tablegen(TARGET file.td  out.inc "flags" [out.inc "flags"]...)
# Generates the .inc files in the folder of the binary directory that mirrors the source folder.
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
  dtc_use_compiler_pch(${name} ${ARG_LINK})
  dtc_unity(${name})
  set_target_properties(${name} PROPERTIES DTC_COMPILER TRUE) # read by dtc_add_unit_test
  if(ARG_TABLEGEN)
    add_dependencies(${name} ${ARG_TABLEGEN})
  endif()
endfunction()

# dtc_add_compiler_tool(NAME SOURCES a.cpp... [LINK lib...] [PCH_OF target]): a program in build/bin.
# PCH_OF: it shares the precompiled header of this target.
function(dtc_add_compiler_tool name)
  cmake_parse_arguments(ARG "" "PCH_OF" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} dtc_mlir)
  dtc_unity(${name})
  if(ARG_PCH_OF)
    dtc_use_pch(${name} ${ARG_PCH_OF})
  else()
    dtc_use_compiler_pch(${name} ${ARG_LINK})
  endif()
endfunction()
