// Enough address space for the libraries of a program, asked for before they begin.
//
// OpenBLAS takes buffers in its constructor, which comes before main(), and later at a thread's first
// product; where the system gives it none (ulimit -v), it tries again for ever. What runs before all
// constructors of libraries is .preinit_array of the program.
#pragma once

#include <cstddef>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace dtc {

// Beyond what the program and its libraries are themselves.
inline constexpr size_t kLibrarySpace = size_t(256) << 20;

// Only calls that need nothing of a library that has been set up.
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

// In the program's main.cpp. AddressSanitizer, which comes later, has limits of its own.
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define DTC_NEED_ADDRESS_SPACE(words)
#else
#define DTC_NEED_ADDRESS_SPACE(words)                                                              \
  static void dtcNeedAddressSpace() { ::dtc::needAddressSpace(words); }                            \
  __attribute__((section(".preinit_array"), used)) static void (*const dtcBeforeAll)() =           \
      dtcNeedAddressSpace;
#endif
