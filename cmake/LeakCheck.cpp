// Turns off the leak check at exit in a process that loaded MPI: Open MPI keeps memory to the end
// of the process and unloads its plugins first, so no suppression could name the function that
// allocated it. Also turns it off in a process that asks for it, such as a test that leaks on
// purpose. Only in sanitizer builds.
#include <dlfcn.h>

extern "C" {
__attribute__((weak)) bool dtcIgnoresLeaks = false;
__attribute__((weak)) int __lsan_is_turned_off() {
  return dtcIgnoresLeaks || dlopen("libmpi.so.40", RTLD_LAZY | RTLD_NOLOAD) != nullptr;
}
}
