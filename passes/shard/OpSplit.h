// The ways in which one op can be split over the mesh, and what each makes of its tensors.
#pragma once

#include "passes/shard/Mesh.h"

#include "dialects/graph/Rule.h"

#include <optional>
#include <string>

namespace dtc {

// On one mesh axis: a loop of the op's rule (0 or more), or one of these.
namespace split {
constexpr int kNone = -1;    // every rank does the same
constexpr int kPartial = -2; // operands and results are sums that are not finished yet
} // namespace split

// One entry per mesh axis.
using OpSplit = llvm::SmallVector<int, 3>;

// "none", "partial" or the number of the loop, as plans write it; the reverse, nothing for another
// text.
std::string splitToText(int choice);
std::optional<int> splitFromText(llvm::StringRef text);

// Whether `loop` can be split into `parts`: it is not whole, in no tensor inside of another loop
// (parts would not be contiguous there), and divides or may be padded.
bool canSplitLoop(const graph::OpRule &rule, int loop, int64_t parts);

// The loop that splitting `dim` splits, or split::kNone.
int loopOfDim(const graph::TensorLoops &tensor, int64_t dim);

// Where the choice on one axis needs the op's operand, and leaves its result.
AxisPlacement operandUnder(const graph::OpRule &rule, size_t operand, int choice);
AxisPlacement resultUnder(const graph::OpRule &rule, size_t result, int choice);

// The same on all axes.
Placement operandUnder(const graph::OpRule &rule, size_t operand, llvm::ArrayRef<int> split);
Placement resultUnder(const graph::OpRule &rule, size_t result, llvm::ArrayRef<int> split);

// What partitioning obeys: of every op with a rule its OpSplit; of arguments and results of
// functions where they are when the function is called and when it returns.
using graph::kPlacementAttr;
using graph::kSplitsAttr;

// The choice on an axis of `parts` ranks where operands are somewhere and nothing is to be moved but
// to finish sums: the loop that an operand is split along, unless another axis (`taken`) has it;
// else "partial" where sums are only added, among them or to scalars. `placementOf` is asked for
// the operands.
int followOperands(mlir::Operation *op, const graph::OpRule &rule, int64_t parts,
                   llvm::ArrayRef<int> taken,
                   llvm::function_ref<AxisPlacement(mlir::Value)> placementOf);

void setSplit(mlir::Operation *op, llvm::ArrayRef<int> split);

// The op's attribute, checked against its rule and the mesh. Emits a diagnostic where the op has
// none, or one that its rule does not allow.
llvm::FailureOr<OpSplit> readSplit(mlir::Operation *op, const graph::OpRule &rule,
                                   const Mesh &mesh);

} // namespace dtc
