// Rewrites the body of one function from the logical device to one rank.
#pragma once

#include "passes/shard/OpSplit.h"
#include "passes/shard/ValueRoles.h"

#include <memory>
#include <vector>

namespace dtc {

// A parameter that does not rest where it is used. Its uses are counted, through all blocks that it
// is passed to.
struct RestingPlacement {
  Placement atRest, inUse;
  std::shared_ptr<int64_t> uses = std::make_shared<int64_t>(0);
};
// One entry per argument of a block; nothing for what is no such parameter.
using RestingArguments = std::vector<std::optional<RestingPlacement>>;

// What a function needs of the module around it.
class BlockSource {
public:
  virtual ~BlockSource() = default;
  // The function of a rank that stands for a block of the one-device program.
  virtual llvm::FailureOr<graph::FuncOp> resolve(graph::FuncOp block,
                                                 const RestingArguments &resting) = 0;
  // A new block without arguments, of no name that is in use.
  virtual graph::FuncOp create(mlir::Location loc, llvm::StringRef name) = 0;
};

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
                      const ValueRoles &roles, BlockSource &blocks);

  // Arguments where `from` says that they are, or where they rest. Fails after a diagnostic.
  mlir::LogicalResult addArguments(const RestingArguments &resting = {});

  struct Move {
    mlir::Value value;
    Placement to;
  };
  // Brings values to other placements at once, for all their users. What is stacked alike is moved
  // execution by execution.
  void move(llvm::ArrayRef<Move> moves);

  // Parameters that do not rest where they are used are brought there for each use, inside of the
  // blocks that use them. A block gathers each once: it is a use.
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
  struct RestingParameter {
    mlir::Value local;
    RestingPlacement placement;
  };

  mlir::Value localAs(mlir::Value value, const Placement &placement);
  mlir::Value localAs(mlir::Value value, const Placement &placement, graph::CollectiveRole role);
  // A tensor, not a stack.
  mlir::Value moved(mlir::OpBuilder &at, const PlacedValue &value, mlir::RankedTensorType global,
                    const Placement &to, graph::CollectiveRole role) const;
  void gatherOperands(mlir::Operation &op);
  mlir::LogicalResult rewrite(mlir::Operation &op);
  void rewriteGet(graph::GetOp get);
  mlir::LogicalResult rewriteCall(graph::BlockCallOpInterface call);
  llvm::SmallVector<mlir::Value> moveStacks(llvm::ArrayRef<Move> moves, graph::CollectiveRole role);
  mlir::LogicalResult checkSums(mlir::Operation &op, llvm::ArrayRef<int> split) const;
  mlir::LogicalResult checkSamples(mlir::Operation &op, const graph::OpRule &rule,
                                   llvm::ArrayRef<int> split) const;
  mlir::LogicalResult rewriteByRule(mlir::Operation &op, graph::RuleOpInterface interface);
  void attachWindows(mlir::Operation &op, mlir::Operation &local, const graph::OpRule &rule,
                     llvm::ArrayRef<int> split);

  mlir::ModuleOp module;
  graph::FuncOp from, to;
  const Mesh &mesh;
  const ValueRoles &roles;
  BlockSource &blocks;
  mlir::OpBuilder builder;
  bool gathersForUses = false;
  llvm::DenseMap<mlir::Value, PlacedValue> values;
  llvm::DenseMap<mlir::Value, RestingParameter> resting;
  llvm::DenseSet<mlir::Value> gathered; // in a block
};

} // namespace dtc
