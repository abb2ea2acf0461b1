// Rewrites the body of one function from the logical device to one rank.
#pragma once

#include "passes/shard/OpPlacement.h"

#include <functional>
#include <string>
#include <vector>

namespace dtc {

// What a block is partitioned for; equal keys share one local function.
struct BlockKey {
  std::string callee;
  std::vector<Placement> arguments;
  std::vector<bool> weights;                   // which arguments are parameters
  std::vector<std::optional<Placement>> hints; // per result

  std::string text() const;
};

struct LocalBlock {
  graph::FuncOp func;
  std::vector<Placement> results;
};

using BlockResolver = std::function<llvm::FailureOr<LocalBlock>(const BlockKey &)>;

// The placement and global type of a parameter or state; the symbol exists (verified by graph.get
// and graph.set).
Placement placementOfSymbol(mlir::ModuleOp module, llvm::StringRef symbol, const Mesh &mesh);

class FunctionPartitioner {
public:
  // Fills the empty function `to` from `from`. Calls are resolved by `resolve`.
  FunctionPartitioner(mlir::ModuleOp module, graph::FuncOp from, graph::FuncOp to, const Mesh &mesh,
                      const PlacementPolicy &policy, BlockResolver resolve);

  void addArgument(mlir::BlockArgument argument, const Placement &placement, bool weight);
  // Says where `value` of the old function will be wanted.
  void setHint(mlir::Value value, const Placement &placement) { hints[value] = placement; }
  // Brings a value to `placement` at once, for all its users.
  void move(mlir::Value value, const Placement &placement);

  mlir::LogicalResult rewriteBody();

  mlir::ValueRange returned() const;
  const Placement &placementOf(mlir::Value value) const {
    return values.find(value)->second.placement;
  }
  mlir::Value localAs(mlir::Value value, const Placement &placement);

  // Ends the new function and sets its type.
  void finish(mlir::ValueRange results);

private:
  // A value of the one-device program and its part on a rank.
  struct PlacedValue {
    mlir::Value local;
    Placement placement;
    bool weight = false;
  };

  void spreadHints();
  std::optional<Placement> hintOf(mlir::Value value) const;
  mlir::LogicalResult rewrite(mlir::Operation &op);
  void rewriteGet(graph::GetOp get);
  mlir::LogicalResult rewriteCall(graph::CallOp call);
  mlir::LogicalResult checkSplit(mlir::Operation &op, const graph::OpRule &rule) const;
  mlir::LogicalResult rewriteByRule(mlir::Operation &op, graph::RuleOpInterface interface);
  void attachWindows(mlir::Operation &op, mlir::Operation &local, const graph::OpRule &rule,
                     const OpDecision &decision);

  mlir::ModuleOp module;
  graph::FuncOp from, to;
  const Mesh &mesh;
  PlacementPolicy policy;
  BlockResolver resolve;
  mlir::OpBuilder builder;
  llvm::DenseMap<mlir::Value, PlacedValue> values;
  llvm::DenseMap<mlir::Value, Placement> hints;
};

} // namespace dtc
