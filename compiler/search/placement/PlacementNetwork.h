// The placements of a step over all mesh axes as a cost-function network for
// compiler/search/solver. Internal to this folder.
#pragma once

#include "compiler/search/placement/OpChoices.h"
#include "compiler/search/placement/ParameterChoices.h"
#include "compiler/search/placement/PlacementGraph.h"

#include "llvm/ADT/MapVector.h"

namespace dtc {

// The splits of all ops and the placements of all tensors of a step.
struct PlacedStep {
  llvm::MapVector<mlir::Operation *, OpSplit> ops;
  llvm::MapVector<mlir::Operation *, std::vector<Placement>> arguments, results; // key: function
  std::map<std::string, Placement> parameters;                                   // key: symbol
};

// Nodes are ops, whose values are the ways of splitting them (OpChoices), and parameters, whose
// values are the dims to split them along (ParameterChoices). Costs of a node: seconds of the
// kernel, prices of saved activations and of stored parameters. Costs between two: seconds of the
// collectives that move the tensor (PlacementGraph).
//
// Functions are entered once, where they are called first. Across calls
// - parameters that are passed to one argument are one node (WeightClasses);
// - what a forward block saves for its backward is where its maker leaves it, sums finished;
// - activations are split over samples on the data axis, and over the sequence on the tensor axis
//   where `sequenceParallel`;
// - gradients of parameters stay as they are, sums unfinished until the end of the step;
// - what a repeat carries is where it was, execution by execution: sums of gradients, to which each
//   execution adds, are where what is added is.
class PlacementNetwork {
public:
  explicit PlacementNetwork(const PlacementProblem &problem);

  // Fails after a diagnostic: a batch that the data axis does not divide, a placement of parameters
  // or told splits that are not this step's.
  mlir::LogicalResult build();

  // Returns the problem under the given prices. Only the costs that depend on prices are added
  // here; the rest is built once.
  solver::Problem problem(const PlacementPrices &prices) const { return network.problem(prices); }
  // Converts `choice`, a value for each node, to the placements of everything but '@update'.
  PlacedStep decode(llvm::ArrayRef<int32_t> choice) const;

private:
  using Uses = llvm::MapVector<mlir::Value, llvm::SmallVector<PlacementNode, 4>>;

  mlir::LogicalResult enter(graph::FuncOp func, int64_t numCarried = 0);
  mlir::LogicalResult placeInputs(graph::FuncOp microbatch);
  void leaveBlock(graph::FuncOp func, int64_t numCarried, Uses &uses);
  void placeSum(mlir::Operation *op);
  void leaveStep(graph::FuncOp microbatch);
  mlir::LogicalResult addCall(graph::BlockCallOpInterface call, Uses &uses);
  bool isSum(mlir::BlockArgument argument, graph::FuncOp callee) const;
  void placeArguments(graph::BlockCallOpInterface call, graph::FuncOp callee);
  mlir::LogicalResult addOp(mlir::Operation *op, graph::RuleOpInterface interface, Uses &uses);

  bool isActivation(mlir::Value value) const;
  // Data parallelism's part of a tensor whose dim `dim` are samples.
  void splitSamples(Placement &placement, int64_t dim) const;
  mlir::LogicalResult splitSequence(graph::FuncOp microbatch, mlir::BlockArgument argument,
                                    Placement &placement) const;
  Placement boundaryOf(mlir::Value value) const;
  llvm::FailureOr<PlacementNode> addClassNode(unsigned weightClass);
  PlacementNode nodeOfWeight(mlir::Value value);
  auto mayMove(mlir::Value value) const {
    return [this, value](const Placement &from, const Placement &to) {
      return textbook.mayMove(value, from, to);
    };
  }
  void use(Uses &uses, mlir::Value value, PlacementNode need) {
    uses[value].push_back(std::move(need));
  }
  const Placement &chosen(const PlacementNode &placementNode,
                          llvm::ArrayRef<int32_t> choice) const {
    return placementNode
        .placements[placementNode.node < 0
                        ? 0
                        : static_cast<size_t>(choice[static_cast<size_t>(placementNode.node)])];
  }

  mlir::ModuleOp module;
  const Mesh &mesh;
  bool sequenceParallel;
  const OpSplits *planned;
  const PlacementCosts *costs;
  double microBatches;
  llvm::SmallVector<unsigned, 2> dataAxes, contextAxes;
  llvm::SmallVector<unsigned, 2> tensorAxes; // outermost first
  DimRoles roles;
  WeightClasses weights;
  HeadOps heads;
  TextbookPattern textbook;
  OpChoices opChoices;
  ParameterChoices parameterChoices;

  PlacementGraph network;
  llvm::DenseMap<mlir::Value, PlacementNode> placementNodes;
  std::map<unsigned, PlacementNode> classNodes;
  llvm::DenseSet<mlir::Value> saved;
  llvm::DenseSet<mlir::Value> sums; // arguments of blocks that each execution of a repeat adds to
  llvm::MapVector<mlir::Operation *, std::pair<int, std::vector<OpSplit>>> ops;
  llvm::MapVector<mlir::Operation *, std::vector<PlacementNode>> arguments,
      results; // key: function
};

} // namespace dtc
