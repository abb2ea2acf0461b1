// The graph dialect: a training graph on one logical device, and after partitioning the part of one
// rank.
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

// Where a tensor lives along one mesh axis; the vocabulary of DTensor.
struct AxisPlacement {
  enum class Kind { Replicate, Shard, Partial };
  Kind kind = Kind::Replicate;
  int64_t dim = 0;                     // Shard: the tensor dim
  ReduceKind reduce = ReduceKind::Sum; // Partial: how the parts combine

  static AxisPlacement replicate() { return {}; }
  static AxisPlacement shard(int64_t dim) { return {Kind::Shard, dim, ReduceKind::Sum}; }
  static AxisPlacement partial(ReduceKind reduce) { return {Kind::Partial, 0, reduce}; }
  bool isReplicate() const { return kind == Kind::Replicate; }
  bool isShard() const { return kind == Kind::Shard; }
  bool isPartial() const { return kind == Kind::Partial; }
  bool operator==(const AxisPlacement &other) const {
    return kind == other.kind && (kind != Kind::Shard || dim == other.dim) &&
           (kind != Kind::Partial || reduce == other.reduce);
  }
};
inline llvm::hash_code hash_value(const AxisPlacement &p) {
  return llvm::hash_combine(static_cast<int>(p.kind), p.isShard() ? p.dim : 0,
                            p.isPartial() ? static_cast<int>(p.reduce) : 0);
}

} // namespace dtc::graph

#include "dialects/graph/GraphDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/graph/GraphAttributes.h.inc"

#include "dialects/graph/GraphInterfaces.h.inc"

namespace dtc::graph {

// The first op under `root` that can be planned but not compiled yet, or null.
PlanOnlyOpInterface findPlanOnly(mlir::Operation *root);

// Whether the op is one of the `shard` dialect that moves data between ranks.
bool isCollective(mlir::Operation *op);

// Fails with one diagnostic at the first op under `root` that can be planned but not compiled yet
// (PlanOnlyOpInterface). Example: "'graph.moe_router' op has no kernels yet: ...".
llvm::LogicalResult checkCompilable(mlir::Operation *root);

} // namespace dtc::graph

#define GET_OP_CLASSES
#include "dialects/graph/StructureOps.h.inc"
#define GET_OP_CLASSES
#include "dialects/graph/NnOps.h.inc"
#define GET_OP_CLASSES
#include "dialects/graph/MoeOps.h.inc"
#define GET_OP_CLASSES
#include "dialects/graph/ElementwiseOps.h.inc"
#define GET_OP_CLASSES
#include "dialects/graph/ShapeOps.h.inc"
#define GET_OP_CLASSES
#include "dialects/graph/GradientOps.h.inc"
#define GET_OP_CLASSES
#include "dialects/graph/OptimizerOps.h.inc"
