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

// Whether an op can be split so on a mesh. A loop may be split over several axes, together into
// their product of parts. It must not be whole; a loop that is inside of another in some tensor's
// dim must find that one split to single steps by axes further out, or its parts would not be
// contiguous there; and it must divide, or may be padded.
//
// Example: the query heads of attention are {kv head, group}. With 4 kv heads on a 4 x 2 mesh the
// outer axis may split kv heads and the inner one groups, but none groups alone.
bool canSplit(const graph::OpRule &rule, llvm::ArrayRef<int> split,
              llvm::ArrayRef<int64_t> meshSizes);

// The same for one loop and one axis.
bool canSplitLoop(const graph::OpRule &rule, int loop, int64_t parts);

// The loop over kv heads of an op that runs several query heads for each (attention); nothing for
// other ops.
std::optional<unsigned> groupedLoop(const graph::OpRule &rule);

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

// The choice on an axis where operands are somewhere and nothing is to be moved but to finish sums:
// the loop that an operand is split along, where it can be split after the choices on the axes
// before, `taken`; else "partial" where sums are only added, among them or to scalars. `sizes` are
// those of the axes of `taken` and of the axis; `placementOf` is asked for the operands.
int followOperands(mlir::Operation *op, const graph::OpRule &rule, llvm::ArrayRef<int64_t> sizes,
                   llvm::ArrayRef<int> taken,
                   llvm::function_ref<AxisPlacement(mlir::Value)> placementOf);

void setSplit(mlir::Operation *op, llvm::ArrayRef<int> split);

// The op's attribute, checked against its rule and the mesh. Emits a diagnostic where the op has
// none, or one that its rule does not allow.
llvm::FailureOr<OpSplit> readSplit(mlir::Operation *op, const graph::OpRule &rule,
                                   const Mesh &mesh);

} // namespace dtc
