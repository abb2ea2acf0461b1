// Machine code of a .dte file, loaded into this process.
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <span>
#include <string>

namespace dtc::rt {

// A shared object that lives in memory only. Unloaded by the destructor.
class CodeSegment {
public:
  CodeSegment() = default;
  ~CodeSegment();
  CodeSegment(CodeSegment &&other) noexcept;
  CodeSegment &operator=(CodeSegment &&) = delete;

  // Loads `object`, the bytes of an ELF shared object for this machine. Nothing of it is mapped
  // before format::readCode has accepted it, so that loading runs nothing of it; from then on
  // nobody can change it. InvalidArgument for other code, or with the loader's own message.
  Status load(std::span<const uint8_t> object);

  // Returns the address of a symbol; null if the object has no symbol of that name.
  void *find(const std::string &symbol) const;

private:
  void *handle = nullptr;
  int descriptor =
      -1; // open while the code is loaded, as the loader's name of the code contains it
};

} // namespace dtc::rt
