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

  // `object`: the bytes of an ELF shared object for this machine. Loading runs its constructors, so
  // that whoever starts the program must trust its origin. InvalidArgument carries the loader's own
  // words.
  Status load(std::span<const uint8_t> object);

  // Null when the object has no symbol of that name.
  void *find(const std::string &symbol) const;

private:
  void *handle = nullptr;
  int descriptor =
      -1; // open as long as the code is loaded: its number is in the name that the loader knows the code by
};

} // namespace dtc::rt
