// Prints an executable as JSON. Internal to this folder.
#pragma once

#include "runtime/format/dte_generated.h"

#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <optional>
#include <span>

namespace dtc {

// Writes the executable as JSON, with the instructions of `rank` if it is set.
void printJson(const format::Manifest &manifest, std::span<const uint8_t> file,
               std::optional<uint32_t> rank, llvm::raw_ostream &out);

} // namespace dtc
