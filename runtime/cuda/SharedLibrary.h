// Libraries that are opened when they are first needed, so that a machine without them runs all else.
#pragma once

#include "runtime/base/Status.h"

#include <span>
#include <string>
#include <vector>

namespace dtc::rt {

struct LibrarySymbol {
  const char *name;
  void **slot;          // of the function's address
  bool isNeeded = true; // else null where the library is older
};

struct LibraryName {
  std::string what;               // "the driver of NVIDIA's GPUs"
  std::vector<std::string> files; // tried in this order: "libcuda.so.1"
  std::string mend;               // what to do where it is missing
};

// Opens the first of the files that can be and fills all slots. It stays open. Unavailable names what is missing: file
// or function.
Status openLibrary(const LibraryName &name, std::span<const LibrarySymbol> symbols);

} // namespace dtc::rt
