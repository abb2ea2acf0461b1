// Rewrites the body of one function from the logical device to one rank.
#pragma once

#include "passes/shard/OpSplit.h"
#include "passes/shard/ValueRoles.h"

#include <functional>

namespace dtc {

// The function of a rank that stands for a block of the one-device program.
using BlockResolver = std::function<llvm::FailureOr<graph::FuncOp>(graph::FuncOp)>;

// Where a parameter or state rests between steps; the symbol exists (verified by graph.get and
// graph.set).
Placement placementOfSymbol(mlir::ModuleOp module, llvm::StringRef symbol, const Mesh &mesh);

// Where the step wants a parameter to compute with it; nothing where that is as it rests.
std::optional<Placement> placementInUse(mlir::ModuleOp module, llvm::StringRef symbol,
                                        const Mesh &mesh);

// Where a function says that its argument or result is (kPlacementAttr). Emits a diagnostic where
// it does not say so.
llvm::FailureOr<Placement> placementOfArgument(graph::FuncOp func, unsigned index,
                                               const Mesh &mesh);
llvm::FailureOr<Placement> placementOfResult(graph::FuncOp func, unsigned index, const Mesh &mesh);

// Obeys: every op is split as its kSplitsAttr says, and every value that crosses a call is where
// the callee's kPlacementAttr says. What is not where it is needed is resharded there.
class FunctionPartitioner {
public:
  // Fills the empty function `to` from `from`. Callees are resolved by `resolve`.
  FunctionPartitioner(mlir::ModuleOp module, graph::FuncOp from, graph::FuncOp to, const Mesh &mesh,
                      const ValueRoles &roles, BlockResolver resolve);

  // Arguments where `from` says that they are. Fails after a diagnostic.
  mlir::LogicalResult addArguments();
  // Brings a value to `placement` at once, for all its users.
  void move(mlir::Value value, const Placement &placement);

  // Parameters that do not rest where they are used are brought there for each use.
  void gatherForUses() { gathersForUses = true; }

  // Fails after a diagnostic.
  mlir::LogicalResult rewriteBody();

  // Ends the new function with what `from` returns, where it says that results are, and sets its
  // type. Fails after a diagnostic.
  mlir::LogicalResult finish();

private:
  // A value of the one-device program and its part on a rank.
  struct PlacedValue {
    mlir::Value local;
    Placement placement;
  };
  // A parameter as it rests, where it is used placed otherwise.
  struct RestingParameter {
    mlir::Value local;
    Placement atRest, inUse;
    int64_t uses = 0;
  };

  mlir::Value localAs(mlir::Value value, const Placement &placement);
  mlir::Value localAs(mlir::Value value, const Placement &placement, graph::CollectiveRole role);
  void gatherOperands(mlir::Operation &op);
  mlir::LogicalResult rewrite(mlir::Operation &op);
  void rewriteGet(graph::GetOp get);
  mlir::LogicalResult rewriteCall(graph::CallOp call);
  mlir::LogicalResult checkSums(mlir::Operation &op, llvm::ArrayRef<int> split) const;
  mlir::LogicalResult rewriteByRule(mlir::Operation &op, graph::RuleOpInterface interface);
  void attachWindows(mlir::Operation &op, mlir::Operation &local, const graph::OpRule &rule,
                     llvm::ArrayRef<int> split);

  mlir::ModuleOp module;
  graph::FuncOp from, to;
  const Mesh &mesh;
  const ValueRoles &roles;
  BlockResolver resolve;
  mlir::OpBuilder builder;
  bool gathersForUses = false;
  llvm::DenseMap<mlir::Value, PlacedValue> values;
  llvm::DenseMap<mlir::Value, RestingParameter> resting;
};

} // namespace dtc
