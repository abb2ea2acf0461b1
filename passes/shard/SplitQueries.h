// The attention whose queries ranks of context parallelism may have parts of.
#pragma once

#include "dialects/graph/Context.h"

#include <string>

namespace dtc {

// Returns the reason why no rank can have a part of the queries of an attention or its gradient,
// such as "has dropout", where keys travel in this way; "" if ranks can. The reason is one that
// makes the position of a query count beyond causality, or that of a key that passes by.
std::string whyQueriesAreWhole(mlir::Operation *attention, graph::KeyTravel travel);

} // namespace dtc
