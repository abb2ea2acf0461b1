// The ways in which one op can be split over one mesh axis, and what each makes of its tensors.
#pragma once

#include "passes/shard/Mesh.h"

#include "dialects/graph/Rule.h"

#include <optional>
#include <string>

namespace dtc {

// A loop of the op's rule (0 or more), or one of these.
namespace split {
constexpr int kNone = -1;    // every rank does the same
constexpr int kPartial = -2; // operands and results are sums that are not finished yet
constexpr int kKeep = -3;    // of operands of calls: as they are, but for sums, which are finished
} // namespace split

// "none", "partial" or the number of the loop, as plans write it; the reverse, nothing for another
// text.
std::string splitToText(int choice);
std::optional<int> splitFromText(llvm::StringRef text);

// Whether `loop` can be split into `parts`: it is not whole, in no tensor inside of another loop
// (parts would not be contiguous there), and divides or may be padded.
bool canSplitLoop(const graph::OpRule &rule, int loop, int64_t parts);

// Where the choice needs the op's operand, and leaves its result.
AxisPlacement operandUnder(const graph::OpRule &rule, size_t operand, int choice);
AxisPlacement resultUnder(const graph::OpRule &rule, size_t result, int choice);

// Attribute of an op: the choice on the axis that splits weights, which the partitioner follows
// instead of choosing. On a graph.call: what its operands are brought to there, an entry for each:
// a dim to split, split::kNone for whole ones, or split::kKeep.
using graph::kSplitAttr;

} // namespace dtc
