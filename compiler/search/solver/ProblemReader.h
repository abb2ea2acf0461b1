// Reads placement problems.
#pragma once

#include "compiler/search/solver/Problem.h"

#include <string>

namespace dtc::solver {

// Reads the JSON of the IOPDDL contest, plain or compressed by gzip:
//   {"problem": {"name",
//                "nodes": {"intervals": [[begin, end]...], "costs": [[...]...],
//                          "usages": [[...]...]},
//                "edges": {"nodes": [[a, b]...], "costs": [[...]...]}, "usage_limit"}}
// Edges of one node, or of a node with itself, are added to the node's costs. Errors contain the
// path and, for JSON that cannot be read, line and column.
Result<Problem> readProblem(const std::string &path);

} // namespace dtc::solver
