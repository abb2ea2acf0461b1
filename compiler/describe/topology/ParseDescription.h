// Topology files as descriptions, and back. Internal to this folder.
#pragma once

#include "compiler/describe/topology/Description.h"

#include <string>

namespace dtc {

// Reads TOML. For class "cpu", values "discover" are filled in from this machine. Errors: text that
// is not TOML, or a value that is not valid, with its location.
Result<SystemDescription> parseDescription(llvm::StringRef text, const std::string &path);

// Prints TOML that parseDescription reads back to the same description.
std::string printDescription(const SystemDescription &system);

} // namespace dtc
