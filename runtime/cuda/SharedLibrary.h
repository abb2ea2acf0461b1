// Libraries that are opened when they are first needed, so that machines without them run
// everything else.
#pragma once

#include "runtime/base/Status.h"

#include <span>
#include <string>
#include <vector>

namespace dtc::rt {

// A function of a library.
struct LibrarySymbol {
  const char *name;
  void **slot;          // receives the function's address
  bool isNeeded = true; // otherwise null if the library is older
};

// A library and its candidate files.
struct LibraryName {
  std::string what;               // "the driver of NVIDIA's GPUs"
  std::vector<std::string> files; // tried in this order: "libcuda.so.1"
  std::string mend;               // hint for a missing library
};

// Opens the first file that can be opened and fills all slots. The library stays open. The error
// Unavailable names the missing file or function.
Status openLibrary(const LibraryName &name, std::span<const LibrarySymbol> symbols);

} // namespace dtc::rt
