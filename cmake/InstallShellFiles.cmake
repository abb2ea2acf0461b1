# Runs when dtc is installed: asks the programs in the folder ${programs} for their manual pages and completions, and
# puts them where man, bash, zsh and fish look.
set(share "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/share")
set(man "${share}/man/man1")
file(MAKE_DIRECTORY "${man}" "${share}/bash-completion/completions" "${share}/zsh/site-functions"
     "${share}/fish/vendor_completions.d")
set(bash bash-completion/completions/@)
set(zsh zsh/site-functions/_@)
set(fish fish/vendor_completions.d/@.fish)

# Writes what a command prints to a file of the shared folder.
function(write_output file)
  message(STATUS "Installing: ${file}")
  execute_process(COMMAND ${ARGN} OUTPUT_FILE "${file}" COMMAND_ERROR_IS_FATAL ANY)
endfunction()

foreach(shell bash zsh fish)
  foreach(program dtc dtrun)
    string(REPLACE @ ${program} file "${${shell}}")
    if(program STREQUAL dtc AND EXISTS "${programs}/dtc")
      write_output("${share}/${file}" "${programs}/dtc" completion ${shell})
    elseif(program STREQUAL dtrun)
      write_output("${share}/${file}" "${programs}/dtrun" --completion ${shell})
    endif()
  endforeach()
endforeach()
write_output("${man}/dtrun.1" "${programs}/dtrun" --manual)
if(EXISTS "${programs}/dtc")
  message(STATUS "Installing: ${man}/dtc*.1")
  execute_process(COMMAND "${programs}/dtc" manual -o "${man}" OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
endif()
