// Cuts long lines of graph IR where a reader would cut them.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace dtc {

constexpr size_t kTextWidth = 120;

// Returns `text`, indented by `indent`, as lines of at most kTextWidth if it can be cut: before the
// types, else after commas, outer ones first. All lines but the first are indented by 4 more.
std::vector<std::string> wrapLine(llvm::StringRef text, size_t indent);

} // namespace dtc
