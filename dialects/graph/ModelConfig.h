// The source of a model.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace dtc::graph {

// Attribute of the module: the text of the Hugging Face config.json that it was built from, a JSON
// object.
constexpr llvm::StringLiteral kConfigAttr = "graph.config";

} // namespace dtc::graph
