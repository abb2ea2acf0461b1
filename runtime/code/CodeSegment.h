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

  // `object`: the bytes of an ELF shared object for this machine. Nothing of it is mapped before
  // format::readCode has found it to be as dtc writes them, so that loading runs nothing of it; from
  // then on nobody can change it. InvalidArgument for other code, or with the loader's own words.
  Status load(std::span<const uint8_t> object);

  // Null when the object has no symbol of that name.
  void *find(const std::string &symbol) const;

private:
  void *handle = nullptr;
  int descriptor =
      -1; // open as long as the code is loaded: its number is in the name that the loader knows the code by
};

} // namespace dtc::rt
