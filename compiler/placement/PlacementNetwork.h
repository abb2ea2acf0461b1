// The placements of a step over all mesh axes as a cost-function network for compiler/solver.
// Internal to this folder.
#pragma once

#include "compiler/placement/HeadOps.h"
#include "compiler/placement/PlacementCosts.h"
#include "compiler/placement/WeightClasses.h"
#include "compiler/plan/OpSplits.h"
#include "compiler/solver/Problem.h"
#include "compiler/workload/DimRoles.h"

#include "llvm/ADT/MapVector.h"

#include <set>

namespace dtc {

// What memory is worth, and how often a step pays for what it does once.
struct PlacementPrices {
  double secondsPerKeptByte = 0, secondsPerParameterByte = 0;
  double microBatches = 8;
};

// What a network is made of.
struct PlacementProblem {
  mlir::ModuleOp step; // after the graph phase; parameters that have a placement keep it
  const Mesh &mesh;
  bool sequenceParallel = false;
  // As Megatron does it: products are split, and their weights, wherever a loop or dim is long
  // enough; sums are scattered under sequence parallelism alone.
  bool splitsWeights = false;
  const OpSplits *told = nullptr;        // choices on the axes of tensor parallelism
  const PlacementCosts *costs = nullptr; // null: for telling alone, costs are 0
  PlacementPrices prices;
};

// Where everything in a step is.
struct PlacedStep {
  llvm::MapVector<mlir::Operation *, OpSplit> ops;
  llvm::MapVector<mlir::Operation *, std::vector<Placement>> arguments, results; // of functions
  std::map<std::string, Placement> parameters;                                   // by symbol
};

// Nodes are ops, whose values are the ways of splitting them, and parameters, whose values are the
// dims to split them along. Costs of a node: seconds of the kernel, prices of what is kept for
// backward or stored. Costs between two: seconds of the collectives that take the tensor from where
// its maker leaves it to where its reader needs it. A tensor with several readers has a node of its
// own, whose values are the sets of placements that it is brought to: each collective is paid once.
//
// Functions are entered once, where they are called first. Across calls
// - parameters that are passed to one argument are one node (WeightClasses);
// - what a forward block saves for its backward is where its maker leaves it, sums finished;
// - activations are split over samples on the data axis, and over the sequence on the tensor axis
//   where `sequenceParallel`;
// - gradients of parameters stay as they are, sums unfinished until the end of the step;
// - what a repeat carries is where it was, execution by execution: sums of gradients, to which each
//   execution adds, are where what is added is.
//
// Where tensor parallelism has two axes (stepMesh), both split the same loop of an op, or the same
// dim of a parameter, but for ops and parameters with heads (HeadOps): there they choose by
// themselves. Products are then split over both axes all the same, wherever attention is.
//
// The data axis has no choice: what is split over samples stays so, and sums over samples stay
// unfinished as long as they can.
class PlacementNetwork {
public:
  explicit PlacementNetwork(const PlacementProblem &problem);

  // Fails after a diagnostic: a batch that the data axis does not divide, a placement of parameters
  // or told splits that are not this step's.
  mlir::LogicalResult build();

  const solver::Problem &problem() const { return network; }
  // What `choice`, a value for each node, says of everything but '@update'.
  PlacedStep decode(llvm::ArrayRef<int32_t> choice) const;

private:
  // Where a tensor is under each value of a node; node -1: one placement, whatever is chosen.
  struct Place {
    int node = -1;
    std::vector<Placement> placements;
  };
  using Uses = llvm::MapVector<mlir::Value, llvm::SmallVector<Place, 4>>;

  // Whether there is tensor parallelism, and no choice about it.
  bool isTold() const { return told && tensorRanks() > 1; }
  int64_t tensorRanks() const;
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
  Placement boundaryOf(mlir::Value value) const;
  llvm::FailureOr<Place> placeClass(unsigned weightClass);
  Place placeOfWeight(mlir::Value value);
  std::vector<Placement> placementsOf(unsigned weightClass) const;
  std::vector<llvm::SmallVector<unsigned, 2>> axesTogether() const;
  bool isSplitEnough(unsigned weightClass, const Placement &placement) const;
  bool mustSplit(unsigned weightClass, const std::vector<Placement> &placements) const;
  int follow(unsigned axis, mlir::Operation *op, const graph::OpRule &rule) const;
  // How the op may be split over some axes together; the entries of other axes are "none".
  std::vector<OpSplit> choicesOn(llvm::ArrayRef<unsigned> axes, mlir::Operation *op,
                                 const graph::OpRule &rule) const;
  llvm::SmallVector<unsigned, 8> loopsOn(llvm::ArrayRef<unsigned> axes, mlir::Operation *op,
                                         const graph::OpRule &rule) const;
  void addHeadChoices(mlir::Operation *op, const graph::OpRule &rule,
                      std::vector<OpSplit> &splits) const;
  llvm::FailureOr<std::vector<OpSplit>> choicesOf(mlir::Operation *op, const graph::OpRule &rule);
  llvm::ArrayRef<OpSplits::Op> toldOf(graph::FuncOp func) const;
  llvm::FailureOr<OpSplit> toldChoice(mlir::Operation *op);
  llvm::FailureOr<OpSplit> toldOrFollowed(mlir::Operation *op, const graph::OpRule &rule);

  // Seconds from each of some placements to each of others.
  struct MoveTable {
    std::vector<size_t> sources, targets; // index among those that differ
    std::vector<double> seconds;
    size_t width = 0;
    double at(size_t from, size_t to) const { return seconds[sources[from] * width + targets[to]]; }
  };
  MoveTable tableOf(mlir::Type type, llvm::ArrayRef<Placement> from,
                    llvm::ArrayRef<Placement> to) const;
  int addNode(size_t values);
  void use(Uses &uses, mlir::Value value, Place need) { uses[value].push_back(std::move(need)); }
  void connect(const Uses &uses);
  void connectOne(mlir::Type type, const Place &source, const Place &need);
  void connectThroughCopies(mlir::Type type, const Place &source, llvm::ArrayRef<Place> needs,
                            llvm::ArrayRef<Placement> targets);
  void returnGradient(mlir::Value value, const Place &parameter);
  void addCost(int node, size_t value, double seconds);
  void addEdge(int a, int b, std::vector<int64_t> table);
  double seconds(mlir::Type type, const Placement &from, const Placement &to) const;
  const Placement &chosen(const Place &place, llvm::ArrayRef<int32_t> choice) const {
    return place
        .placements[place.node < 0 ? 0
                                   : static_cast<size_t>(choice[static_cast<size_t>(place.node)])];
  }

  mlir::ModuleOp module;
  const Mesh &mesh;
  bool sequenceParallel, splitsWeights;
  const OpSplits *told;
  const PlacementCosts *costs;
  PlacementPrices prices;
  int dataAxis, expertAxis;
  llvm::SmallVector<unsigned, 2> tensorAxes; // outermost first
  DimRoles roles;
  WeightClasses weights;
  HeadOps heads;

  solver::Problem network;
  llvm::DenseMap<mlir::Value, Place> places;
  std::map<unsigned, Place> classPlaces;
  llvm::DenseSet<mlir::Value> saved;
  llvm::DenseSet<mlir::Value> sums; // arguments of blocks that each execution of a repeat adds to
  llvm::MapVector<mlir::Operation *, std::pair<int, std::vector<OpSplit>>> ops;
  llvm::MapVector<mlir::Operation *, std::vector<Place>> arguments, results; // of functions
  std::map<mlir::Operation *, size_t> toldOps; // of functions: ops with a rule so far
};

} // namespace dtc
