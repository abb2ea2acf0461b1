// Rewrites the body of one function from the logical device to one rank.
#pragma once

#include "passes/shard/OpSplit.h"
#include "passes/shard/Stored.h"
#include "passes/shard/ValueRoles.h"

#include <memory>
#include <vector>

namespace dtc {

// A parameter whose storage placement differs from the one in which it is used. Its uses are
// counted, through all blocks that it is passed to.
struct RestingPlacement {
  Placement atRest, inUse;
  std::shared_ptr<int64_t> uses = std::make_shared<int64_t>(0);
};
// One entry per argument of a block; nullopt for arguments that are no such parameters.
using RestingArguments = std::vector<std::optional<RestingPlacement>>;

// Access to the other functions of the module.
class BlockSource {
public:
  virtual ~BlockSource() = default;
  // Returns the rank's function for a block of the one-device program. Fails after a diagnostic.
  virtual llvm::FailureOr<graph::FuncOp> resolve(graph::FuncOp block,
                                                 const RestingArguments &resting) = 0;
  // Creates a new block without arguments, with a name that is not in use.
  virtual graph::FuncOp create(mlir::Location loc, llvm::StringRef name) = 0;
};

// Returns the storage placement of a parameter or state between steps. The symbol must exist
// (verified by graph.get and graph.set).
Placement placementOfSymbol(const Stored &stored, llvm::StringRef symbol, const Mesh &mesh);

// Returns the placement that a parameter is gathered to for compute; nullopt if it equals the
// storage placement.
std::optional<Placement> placementInUse(const Stored &stored, llvm::StringRef symbol,
                                        const Mesh &mesh);

// Returns the placement of a function's argument (kPlacementAttr). Emits a diagnostic if it has
// none.
llvm::FailureOr<Placement> placementOfArgument(graph::FuncOp func, unsigned index,
                                               const Mesh &mesh);
// Returns the placement of a function's result; see placementOfArgument.
llvm::FailureOr<Placement> placementOfResult(graph::FuncOp func, unsigned index, const Mesh &mesh);

// Rewrites one function as its attributes say: every op is split by its kSplitsAttr, and every
// value that crosses a call has the placement in the callee's kPlacementAttr. Values that are
// placed differently from their use are resharded.
class FunctionPartitioner {
public:
  // Fills the empty function `to` from `from`. `blocks` resolves the callees.
  FunctionPartitioner(mlir::ModuleOp module, graph::FuncOp from, graph::FuncOp to, const Mesh &mesh,
                      const Stored &stored, const ValueRoles &roles, BlockSource &blocks);

  // Adds the arguments in the placements that `from` gives, or in their storage placements. Fails
  // after a diagnostic.
  mlir::LogicalResult addArguments(const RestingArguments &resting = {});

  // A value and its new placement.
  struct Move {
    mlir::Value value;
    Placement to;
  };
  // Moves values to other placements at once, for all their users. Stacks with equally many entries
  // are moved together, entry by entry.
  void move(llvm::ArrayRef<Move> moves);

  // Gathers parameters for each use, inside of the blocks that use them, if their storage placement
  // differs from it. A block gathers each parameter once, which counts as one use.
  void gatherForUses() { gathersForUses = true; }

  // Rewrites all ops. Fails after a diagnostic.
  mlir::LogicalResult rewriteBody();

  // Ends the new function with the results of `from`, in their placements, and sets its type. Fails
  // after a diagnostic.
  mlir::LogicalResult finish();

private:
  // The local tensor of a rank that stands for a value of the one-device program.
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
  // Moves a tensor that is not a stack.
  mlir::Value moved(mlir::OpBuilder &at, const PlacedValue &value, mlir::RankedTensorType global,
                    const Placement &to, graph::CollectiveRole role) const;
  Placement inOrder(Placement placement) const;
  Placement ofOperand(mlir::Operation &op, const graph::OpRule &rule, size_t operand,
                      llvm::ArrayRef<int> split) const;
  Placement ofResult(mlir::Operation &op, const graph::OpRule &rule, size_t result,
                     llvm::ArrayRef<int> split) const;
  mlir::LogicalResult checkRuns(mlir::Operation &op, mlir::Value value,
                                const Placement &placement) const;
  void gatherOperands(mlir::Operation &op);
  mlir::LogicalResult rewrite(mlir::Operation &op);
  void rewriteGet(graph::GetOp get);
  mlir::LogicalResult rewriteCall(graph::BlockCallOpInterface call);
  llvm::SmallVector<mlir::Value> moveStacks(llvm::ArrayRef<Move> moves, graph::CollectiveRole role);
  mlir::LogicalResult checkSums(mlir::Operation &op, llvm::ArrayRef<int> split) const;
  mlir::LogicalResult checkSamples(mlir::Operation &op, const graph::OpRule &rule,
                                   llvm::ArrayRef<int> split) const;
  bool isOfBatch(mlir::Value value, const Placement &to) const;
  mlir::LogicalResult rewriteByRule(mlir::Operation &op, graph::RuleOpInterface interface);
  mlir::LogicalResult rewriteSplitAttention(mlir::Operation &op, const graph::OpRule &rule,
                                            llvm::ArrayRef<int> split);
  void attachWindows(mlir::Operation &op, mlir::Operation &local, const graph::OpRule &rule,
                     llvm::ArrayRef<int> split);

  mlir::ModuleOp module;
  graph::FuncOp from, to;
  const Mesh &mesh;
  const Stored &stored;
  const ValueRoles &roles;
  BlockSource &blocks;
  bool isZigzag; // ranks have tokens in zigzag order
  mlir::OpBuilder builder;
  bool gathersForUses = false;
  llvm::DenseMap<mlir::Value, PlacedValue> values;
  llvm::DenseMap<mlir::Value, RestingParameter> resting;
  llvm::DenseSet<mlir::Value> gathered; // parameters that a block has already gathered
};

} // namespace dtc
