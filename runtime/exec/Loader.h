// A .dte file in memory, checked.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/format/dte_generated.h"
#include "runtime/trust/TrustedKeys.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace dtc::rt {

// A checked .dte file in memory.
class Executable {
public:
  Executable(const Executable &) = delete;
  Executable &operator=(const Executable &) = delete;

  // Reads `path` into memory, so that later changes of the file do not matter, and runs
  // format::verifyExecutable on all of it. NotFound if there is no such file. With `trusted`, one
  // of these keys has to have signed the file; that is checked before anything else but its header.
  static Status load(const std::string &path, std::unique_ptr<Executable> &executable,
                     const TrustedKeys *trusted = nullptr);
  // Checks bytes that are in memory already; `name` stands for the path in messages.
  static Status fromBytes(std::vector<uint8_t> bytes, const std::string &name,
                          std::unique_ptr<Executable> &executable);

  const format::Manifest &manifest() const { return *root; }
  const std::string &name() const { return fileName; }
  // Returns the number of ranks that the file is for.
  size_t ranks() const { return root->rank_program()->size(); }
  // Returns the program that `rank` runs.
  const format::Program &program(int rank) const;
  // Returns the bytes of a segment.
  std::span<const uint8_t> segment(uint32_t index) const;
  // Returns the whole file, as it was checked.
  std::span<const uint8_t> bytes() const { return file; }

private:
  Executable() = default;

  std::string fileName;
  std::vector<uint8_t> file;
  const format::Manifest *root = nullptr;
};

} // namespace dtc::rt
