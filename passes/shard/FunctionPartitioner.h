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

// Where a parameter or state rests between steps; the symbol exists (verified by graph.get and
// graph.set).
Placement placementOfSymbol(mlir::ModuleOp module, llvm::StringRef symbol, const Mesh &mesh);

// Where the step wants a parameter to compute with it; nothing where that is as it rests.
std::optional<Placement> placementInUse(mlir::ModuleOp module, llvm::StringRef symbol,
                                        const Mesh &mesh);

class FunctionPartitioner {
public:
  // Fills the empty function `to` from `from`. Calls are resolved by `resolve`.
  FunctionPartitioner(mlir::ModuleOp module, graph::FuncOp from, graph::FuncOp to, const Mesh &mesh,
                      const PlacementPolicy &policy, BlockResolver resolve);

  void addArgument(mlir::BlockArgument argument, const Placement &placement, bool weight);
  // Says where `value` of the old function will be wanted.
  void setHint(mlir::Value value, const Placement &placement) { hints[value] = placement; }
  // Brings a value to `placement` at once, for all its users; it is a `role` from then on.
  void move(mlir::Value value, const Placement &placement, graph::CollectiveRole role);
  // What collectives move where nothing more is known: an activation unless set.
  void setDefaultRole(graph::CollectiveRole role) { defaultRole = role; }
  // Parameters that do not rest where they are used are brought there for each use.
  void gatherForUses() { gathersForUses = true; }

  mlir::LogicalResult rewriteBody();

  mlir::ValueRange returned() const;
  const Placement &placementOf(mlir::Value value) const {
    return values.find(value)->second.placement;
  }
  mlir::Value localAs(mlir::Value value, const Placement &placement);
  mlir::Value localAs(mlir::Value value, const Placement &placement, graph::CollectiveRole role);

  // Ends the new function and sets its type.
  void finish(mlir::ValueRange results);

private:
  // A value of the one-device program and its part on a rank.
  struct PlacedValue {
    mlir::Value local;
    Placement placement;
    bool weight = false;
    std::optional<graph::CollectiveRole> role; // what it is, where its op or argument says so
  };
  // A parameter as it rests, where it is used placed otherwise.
  struct RestingParameter {
    mlir::Value local;
    Placement atRest, inUse;
    int64_t uses = 0;
  };

  void spreadHints();
  std::optional<Placement> hintOf(mlir::Value value) const;
  mlir::LogicalResult rewrite(mlir::Operation &op);
  void rewriteGet(graph::GetOp get);
  void gatherOperands(mlir::Operation &op);
  graph::CollectiveRole roleOf(mlir::Value value) const;
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
  graph::CollectiveRole defaultRole = graph::CollectiveRole::Activation;
  bool gathersForUses = false;
  llvm::DenseMap<mlir::Value, PlacedValue> values;
  llvm::DenseMap<mlir::Value, RestingParameter> resting;
  llvm::DenseMap<mlir::Value, Placement> hints;
};

} // namespace dtc
