// Checks before libraries start that the system grants them enough address space.
//
// OpenBLAS allocates buffers in its constructor, which runs before main(), and later at a thread's
// first matrix product; if the system refuses them (ulimit -v), it tries again for ever. Only
// .preinit_array of the program runs before all constructors of libraries.
#pragma once

#include <cstddef>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace dtc {

// The space needed beyond the program and its libraries: OpenBLAS's 256 MiB, and some for what
// others map before it.
inline constexpr size_t kLibrarySpace = size_t(264) << 20;

// Ends the program with `words` if there is not enough address space. Makes only calls that need no
// library to be set up.
inline void needAddressSpace(const char *words) {
  void *space =
      ::mmap(nullptr, kLibrarySpace, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space != MAP_FAILED) {
    ::munmap(space, kLibrarySpace);
    return;
  }
  (void)!::write(STDERR_FILENO, words, std::strlen(words));
  ::_exit(1);
}

} // namespace dtc

// Used in the program's main.cpp. AddressSanitizer, which starts later, has limits of its own.
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define DTC_NEED_ADDRESS_SPACE(words)
#else
#define DTC_NEED_ADDRESS_SPACE(words)                                                              \
  static void dtcNeedAddressSpace() { ::dtc::needAddressSpace(words); }                            \
  __attribute__((section(".preinit_array"), used)) static void (*const dtcBeforeAll)() =           \
      dtcNeedAddressSpace;
#endif
