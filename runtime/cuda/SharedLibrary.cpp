#include "runtime/cuda/SharedLibrary.h"

#include "runtime/base/Text.h"

#include <dlfcn.h>

namespace dtc::rt {

using format::text;

Status openLibrary(const LibraryName &name, std::span<const LibrarySymbol> symbols) {
  void *handle = nullptr;
  std::string file, reasons;
  for (size_t i = 0; i < name.files.size() && !handle; ++i) {
    file = name.files[i];
    handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    const char *reason = handle ? nullptr : ::dlerror();
    if (reason)
      reasons += text(reasons.empty() ? "" : "; ", reason);
  }
  if (!handle)
    return Status::unavailable(text(name.what, " cannot be opened: ", reasons, "; ", name.mend));
  for (const LibrarySymbol &symbol : symbols) {
    *symbol.slot = ::dlsym(handle, symbol.name);
    if (!*symbol.slot && symbol.isNeeded)
      return Status::unavailable(text(name.what, " (", file, ") has no function '", symbol.name,
                                      "', so that it is too old; ", name.mend));
  }
  return {};
}

} // namespace dtc::rt
