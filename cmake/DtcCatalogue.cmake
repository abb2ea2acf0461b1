# dtc_catalogue(FOLDER FUNCTION OUT): writes a source file, its path in OUT, whose `Catalogue FUNCTION()` has the .toml
# files of FOLDER (relative to the root), by name.
function(dtc_catalogue folder function out)
  file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.toml)
  list(SORT files)
  set(entries "")
  foreach(file IN LISTS files)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    get_filename_component(name ${file} NAME) # "p3.16xlarge.toml" has two dots
    string(REGEX REPLACE "\\.toml$" "" name "${name}")
    file(READ ${file} text)
    string(APPEND entries "      {\"${name}\", R\"toml(${text})toml\"},\n")
  endforeach()
  configure_file(${PROJECT_SOURCE_DIR}/cmake/Catalogue.cpp.in Catalogue.cpp @ONLY)
  set(${out} ${CMAKE_CURRENT_BINARY_DIR}/Catalogue.cpp PARENT_SCOPE)
endfunction()
