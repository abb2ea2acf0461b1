// Prints executables for people and programs: what `dtc inspect model.dte` shows.
#pragma once

#include "compiler/support/Error.h"
#include "runtime/format/dte_generated.h"

#include <optional>
#include <span>
#include <string>

namespace dtc {

// Settings of an inspection.
struct InspectOptions {
  std::optional<uint32_t>
      rank; // rank whose instructions to list, with that rank's offsets; nullopt: a summary
  bool json = false; // one JSON object
};

// Prints the executable in `file` (16-byte aligned) after all of dtrun's checks; `name` is for
// messages. Errors: the file breaks a rule of the format, or has no such rank.
Status inspectExecutable(std::span<const uint8_t> file, const std::string &name,
                         const InspectOptions &options, llvm::raw_ostream &out);

} // namespace dtc
