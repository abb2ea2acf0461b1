// Reads software stacks: of the catalogue, of files and of text.
#pragma once

#include "compiler/describe/stack/SoftwareStack.h"

#include <string>
#include <vector>

namespace dtc {

// Returns the names of the catalogue, sorted.
std::vector<std::string> stackNames();

// Loads a stack of the catalogue, or else a stack file. Errors: an unknown name (nearest name), any
// mistake in the file or in one that it extends (its line and column).
Result<SoftwareStack> loadStack(const std::string &nameOrFile);

// Same as loadStack, but on GPUs loads the stack that replaces it there. Example: "dtc" is
// dtc-gpu.toml on GPUs.
Result<SoftwareStack> loadStackFor(const std::string &nameOrFile, const DeviceKind &device);

// Same as loadStack, from TOML text. Errors name `path`, and the files that it extends are relative
// to `path`.
Result<SoftwareStack> parseStack(llvm::StringRef text, const std::string &path);

} // namespace dtc
