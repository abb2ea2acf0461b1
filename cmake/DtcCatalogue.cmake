# dtc_catalogue(FOLDER FUNCTION OUT [ENDING]): writes a source file and stores its path in OUT. Its
# `Catalogue FUNCTION()` returns the files of FOLDER (relative to the root) that end in ENDING
# (default: toml), by name.
function(dtc_catalogue folder function out)
  set(ending toml)
  if(ARGC GREATER 3)
    set(ending ${ARGV3})
  endif()
  file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.${ending})
  list(SORT files)
  set(entries "")
  foreach(file IN LISTS files)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    get_filename_component(name ${file} NAME) # "p3.16xlarge.toml" has two dots
    string(REGEX REPLACE "\\.${ending}$" "" name "${name}")
    file(READ ${file} text)
    string(APPEND entries "      {\"${name}\", R\"text(${text})text\"},\n")
  endforeach()
  configure_file(${PROJECT_SOURCE_DIR}/cmake/Catalogue.cpp.in Catalogue.cpp @ONLY)
  set(${out} ${CMAKE_CURRENT_BINARY_DIR}/Catalogue.cpp PARENT_SCOPE)
endfunction()
