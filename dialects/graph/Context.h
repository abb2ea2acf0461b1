// The module's kind of context parallelism, and the order of tokens that it asks for.
#pragma once

#include "dialects/graph/Graph.h"

#include <optional>

namespace dtc::graph {

// Attribute of the module: what attention does with sequences that are on several ranks, the name
// of a KeyTravel. A module without it has attention of whole sequences, or splits queries as their
// placements say.
constexpr llvm::StringLiteral kKeyTravelAttr = "graph.key_travel";

// The ways in which a rank with a part of the queries meets the keys of the others.
enum class KeyTravel {
  Gather, // it has all of them
  Ring,   // they pass by, one rank's after the other's
};

// Returns the kind that a word of kKeyTravelAttr means; nullopt for other words.
std::optional<KeyTravel> keyTravelFrom(llvm::StringRef word);
// Returns the word of kKeyTravelAttr.
llvm::StringRef toString(KeyTravel travel);

// Returns the kind of the module that an op is in, or is; nullopt if it says none.
std::optional<KeyTravel> keyTravelOf(mlir::Operation *op);

} // namespace dtc::graph
