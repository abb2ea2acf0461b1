// The source of a model.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace dtc::graph {

// Attribute of the module: the text of the Hugging Face config.json that it was built from, a JSON
// object.
constexpr llvm::StringLiteral kConfigAttr = "graph.config";
// A JSON object of further names of parameters, each with the name that the module declares, for
// files that have tied parameters under all their names.
constexpr llvm::StringLiteral kTiedAttr = "graph.tied";

} // namespace dtc::graph
