// The ways in which one op can be split over the mesh, and the resulting placements of its tensors.
#pragma once

#include "passes/shard/Mesh.h"

#include "dialects/graph/Rule.h"

#include <optional>
#include <string>

namespace dtc {

// The choice on one mesh axis: a loop of the op's rule (0 or more), or one of these.
namespace split {
constexpr int kNone = -1;    // every rank computes the same
constexpr int kPartial = -2; // operands and results are partial sums
} // namespace split

// The split of an op: one choice per mesh axis.
using OpSplit = llvm::SmallVector<int, 3>;

// Returns "none", "partial" or the number of the loop, as plans write a choice.
std::string splitToText(int choice);
// Parses the text of splitToText; nullopt for any other text.
std::optional<int> splitFromText(llvm::StringRef text);

// True if an op can be split in this way on a mesh. A loop may be split over several axes, into the
// product of their sizes. The rules are:
// - The loop must not be marked as whole.
// - If the loop is inside of another one in some tensor's dim, axes further out must split that one
//   to single steps; the parts would otherwise not be contiguous.
// - The number of parts must divide the loop, or the loop may be padded.
//
// Example: the query heads of attention are {kv head, group}. With 4 kv heads on a 4 x 2 mesh the
// outer axis may split kv heads and the inner one groups, but no split of groups alone is possible.
bool canSplit(const graph::OpRule &rule, llvm::ArrayRef<int> split,
              llvm::ArrayRef<int64_t> meshSizes);

// True if one loop can be split over one axis of `parts` ranks.
bool canSplitLoop(const graph::OpRule &rule, int loop, int64_t parts);

// Returns the loop over kv heads of an op that has several query heads for each (attention);
// nullopt for other ops.
std::optional<unsigned> groupedLoop(const graph::OpRule &rule);

// Returns the loop that a split of `dim` cuts, or split::kNone.
int loopOfDim(const graph::TensorLoops &tensor, int64_t dim);

// Returns the placement that the choice on one axis requires of an operand.
AxisPlacement operandUnder(const graph::OpRule &rule, size_t operand, int choice);
// Returns the placement of a result under the choice on one axis.
AxisPlacement resultUnder(const graph::OpRule &rule, size_t result, int choice);

// Returns the placement that a split requires of an operand, on all axes.
Placement operandUnder(const graph::OpRule &rule, size_t operand, llvm::ArrayRef<int> split);
// Returns the placement of a result under a split, on all axes.
Placement resultUnder(const graph::OpRule &rule, size_t result, llvm::ArrayRef<int> split);

// Puts context parallelism inside of tensor parallelism where both split one dim of a tensor of
// `op` and that dim is one of heads: ranks of tensor parallelism have neighbouring heads, which
// those of context parallelism share out. Tokens are the other way round, in the order of the mesh.
void orderHeads(mlir::Operation *op, const Mesh &mesh, Placement &placement);
// Returns what operandUnder and resultUnder return, with heads in their order.
Placement operandOf(mlir::Operation *op, const graph::OpRule &rule, size_t operand,
                    llvm::ArrayRef<int> split, const Mesh &mesh);
Placement resultOf(mlir::Operation *op, const graph::OpRule &rule, size_t result,
                   llvm::ArrayRef<int> split, const Mesh &mesh);

// Attributes that partitioning reads: the OpSplit of every op with a rule, and the placements of
// arguments and results of functions, at the call and at the return.
using graph::kPlacementAttr;
using graph::kSplitsAttr;

// Returns the choice on an axis that uses the operands where they are and moves nothing except to
// finish sums: the loop along which an operand is split, if it can be split after the choices
// `taken` on the axes before; else "partial" if partial sums are only added to each other, or to
// scalars. `sizes` are the sizes of the axes of `taken` and of this axis; `placementOf` returns the
// placements of operands.
int followOperands(mlir::Operation *op, const graph::OpRule &rule, llvm::ArrayRef<int64_t> sizes,
                   llvm::ArrayRef<int> taken,
                   llvm::function_ref<AxisPlacement(mlir::Value)> placementOf);

// Sets the op's kSplitsAttr.
void setSplit(mlir::Operation *op, llvm::ArrayRef<int> split);

// Returns the op's attribute, checked against its rule and the mesh. Emits a diagnostic if the op
// has none, or one that its rule does not allow.
llvm::FailureOr<OpSplit> readSplit(mlir::Operation *op, const graph::OpRule &rule,
                                   const Mesh &mesh);

} // namespace dtc
