# Unity builds: several sources of a target are compiled as one, which reads their headers once.

option(DTC_UNITY "Compile several sources of a target as one (users and CI); off where sources are edited" OFF)

# dtc_unity(NAME): lets DTC_UNITY compile the target in this way. Called after the target has all of
# its sources.
function(dtc_unity name)
  if(DTC_UNITY)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    set_property(GLOBAL APPEND PROPERTY DTC_UNITY_TARGETS ${name})
  endif()
endfunction()

# dtc_group_sources(): decides which sources of these targets are compiled together, by the rules in
# unity.py. Called once, as the last command.
function(dtc_group_sources)
  if(NOT DTC_UNITY)
    return()
  endif()
  get_property(targets GLOBAL PROPERTY DTC_UNITY_TARGETS)
  set(lines "")
  foreach(target IN LISTS targets)
    get_target_property(directory ${target} SOURCE_DIR)
    get_target_property(sources ${target} SOURCES)
    string(APPEND lines "${directory};${target}")
    foreach(source IN LISTS sources)
      cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${directory} NORMALIZE)
      if(EXISTS ${source})
        string(APPEND lines ";${source}")
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
      endif()
    endforeach()
    string(APPEND lines "\n")
  endforeach()
  file(WRITE ${PROJECT_BINARY_DIR}/unity-sources.txt "${lines}")
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  execute_process(COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/unity.py
                          ${PROJECT_BINARY_DIR}/unity-sources.txt ${PROJECT_BINARY_DIR}/unity-groups.cmake
                  COMMAND_ERROR_IS_FATAL ANY)
  include(${PROJECT_BINARY_DIR}/unity-groups.cmake)
endfunction()
