# `cmake --install build --prefix DIR` installs the programs that users call, and the plugins that
# dtrun loads if a job needs them (MPI, Gloo, metrics). The catalogues of machines, software and
# models are inside dtc.
include(GNUInstallDirs)

foreach(program dtc dtrun dtc-solve)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endforeach()
# dtrun looks for plugins in ../lib/dtc beside its own folder (runtime/comm/Bootstrap.cpp).
foreach(plugin dtc_mpi dtc_gloo dtc_metrics)
  if(TARGET ${plugin})
    install(TARGETS ${plugin} LIBRARY DESTINATION lib/dtc)
  endif()
endforeach()
# 'dtc data' looks for its Python package in ../share/dtc/python beside its own folder.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/dtc_data DESTINATION share/dtc/python
        FILES_MATCHING PATTERN "*.py")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/tools/monitoring DESTINATION share/dtc)
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/CHANGELOG.md
        DESTINATION ${CMAKE_INSTALL_DOCDIR})

# Manual pages and completions are written by the programs themselves.
install(CODE "set(programs [[${CMAKE_BINARY_DIR}/bin]])")
install(SCRIPT ${CMAKE_CURRENT_LIST_DIR}/InstallShellFiles.cmake)
