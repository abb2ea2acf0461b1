// The graph dialect: a training graph on one logical device, and after partitioning the shard of
// one rank.
#pragma once

#include "dialects/graph/Attributes.h"
#include "dialects/graph/Rule.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/graph/GraphEnums.h.inc"

namespace dtc::graph {

// The placement of a tensor along one mesh axis. The vocabulary is that of DTensor, with an order
// of axes that split the same dim.
struct AxisPlacement {
  // The kinds of placements.
  enum class Kind { Replicate, Shard, Partial };
  Kind kind = Kind::Replicate;
  int64_t dim = 0;                     // Shard: the tensor dim
  ReduceKind reduce = ReduceKind::Sum; // Partial: the reduction that combines the parts
  // Shard: axes that split the same dim are ordered by ascending level, and within a level by the
  // order of the mesh, outermost first.
  int64_t level = 0;
  // Shard: the rank at coordinate c of n has chunks c and 2n-1-c of 2n equal chunks, in this order,
  // so that causal attention costs the same on all ranks.
  bool zigzag = false;

  // Returns the placement in which all ranks hold the tensor.
  static AxisPlacement replicate() { return {}; }
  // Returns a split of tensor dim `dim`.
  static AxisPlacement shard(int64_t dim, int64_t level = 0, bool zigzag = false) {
    return {Kind::Shard, dim, ReduceKind::Sum, level, zigzag};
  }
  // Returns the placement in which each rank holds an addend, or a maximum.
  static AxisPlacement partial(ReduceKind reduce) { return {Kind::Partial, 0, reduce, 0, false}; }
  // True for a replicated tensor.
  bool isReplicate() const { return kind == Kind::Replicate; }
  // True for a split tensor.
  bool isShard() const { return kind == Kind::Shard; }
  // True for partial sums and maxima.
  bool isPartial() const { return kind == Kind::Partial; }
  bool operator==(const AxisPlacement &other) const {
    return kind == other.kind &&
           (kind != Kind::Shard ||
            (dim == other.dim && level == other.level && zigzag == other.zigzag)) &&
           (kind != Kind::Partial || reduce == other.reduce);
  }
};
// Hashes the fields that operator== compares.
inline llvm::hash_code hash_value(const AxisPlacement &p) {
  return llvm::hash_combine(static_cast<int>(p.kind), p.isShard() ? p.dim : 0,
                            p.isShard() ? p.level : 0, p.isShard() && p.zigzag,
                            p.isPartial() ? static_cast<int>(p.reduce) : 0);
}

} // namespace dtc::graph

#include "dialects/graph/GraphDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/graph/GraphAttributes.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/graph/GraphTypes.h.inc"

#include "dialects/graph/GraphInterfaces.h.inc"

namespace dtc::graph {

// Returns the type of a tensor, or of the entries of a stack.
mlir::RankedTensorType tensorOf(mlir::Type type);
// Returns `tensor`, or a stack of it if `type` is a stack, with as many entries.
mlir::Type withTensor(mlir::Type type, mlir::RankedTensorType tensor);

// Returns the first op under `root` that can be planned but not compiled yet, or null.
PlanOnlyOpInterface findPlanOnly(mlir::Operation *root);

// True if the op is one of the `shard` dialect that moves data between ranks.
bool isCollective(mlir::Operation *op);

// Fails with one diagnostic at the first op under `root` that can be planned but not compiled yet
// (PlanOnlyOpInterface). Example: "'graph.moe_router' op has no kernels yet: ...".
llvm::LogicalResult checkCompilable(mlir::Operation *root);

} // namespace dtc::graph

#define GET_OP_CLASSES
#include "dialects/graph/StructureOps.h.inc"
#define GET_OP_CLASSES
#include "dialects/graph/BlockOps.h.inc"
