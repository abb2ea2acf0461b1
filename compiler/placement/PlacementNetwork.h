// The placements of a block's ops over tensor parallelism as a cost-function network for
// compiler/solver. Internal to this folder.
#pragma once

#include "compiler/placement/PlacementCosts.h"
#include "compiler/solver/Problem.h"

#include "llvm/ADT/MapVector.h"

#include <map>

namespace dtc {

// What memory is worth, and how often a step pays for what it does once.
struct PlacementPrices {
  double secondsPerKeptByte = 0, secondsPerParameterByte = 0;
  double microBatches = 8;
};

// A choice for every op of a step, and for every parameter of a folded model.
struct SolvedPlacements {
  llvm::MapVector<mlir::Operation *, int> splits;          // as split::kNone ...
  std::map<std::string, AxisPlacement> parameters;         // by symbol
  std::map<mlir::Operation *, std::vector<int64_t>> calls; // kSplitAttr of a graph.call
};

// Nodes are ops, whose values are the ways of splitting them, and parameters, whose values are the
// dims to split them along. Costs of a node: seconds of the kernel, prices of what is kept for
// backward or stored. Costs between two: seconds of the collective that takes the tensor from where
// its maker leaves it to where its reader needs it. A tensor with several readers has a node of its
// own, whose values are the sets of placements that it is brought to: each collective is paid once.
//
// Activations between blocks are split over the sequence where `sequenceParallel`, else whole.
class PlacementNetwork {
public:
  PlacementNetwork(const PlacementCosts &costs, const PlacementPrices &prices,
                   bool sequenceParallel)
      : costs(costs), prices(prices), sequenceParallel(sequenceParallel) {}

  // The ops of a block: `forward` and `backward` are its calls in '@microbatch'. False where the
  // block calls others.
  bool addBlock(mlir::ModuleOp module, graph::CallOp forward, graph::CallOp backward);
  // The ops of '@microbatch' itself.
  void addRest(graph::FuncOp microbatch);

  const solver::Problem &problem() const { return network; }
  // Adds what `choice`, a value for each node, says.
  void decode(llvm::ArrayRef<int32_t> choice, SolvedPlacements &solved) const;

private:
  // Where a tensor is under each value of a node; node -1: one placement, whatever is chosen.
  struct Place {
    int node = -1;
    std::vector<AxisPlacement> placements;
  };
  using Uses = llvm::MapVector<mlir::Value, llvm::SmallVector<Place, 4>>;

  AxisPlacement boundaryOf(mlir::Value value) const;
  int addNode(size_t values);
  Place parameterOf(graph::GetOp get);
  void addOps(graph::FuncOp func, Uses &uses);
  void use(Uses &uses, mlir::Value value, Place need) { uses[value].push_back(std::move(need)); }
  void connect(const Uses &uses);
  void connectOne(mlir::Type type, const Place &source, const Place &need);
  void connectThroughCopies(mlir::Type type, const Place &source, llvm::ArrayRef<Place> needs,
                            llvm::ArrayRef<AxisPlacement> targets);
  // Forbids all but `placement`.
  void require(mlir::Value value, const AxisPlacement &placement);
  void keep(mlir::Value value);
  void returnGradient(mlir::Value value, graph::GetOp parameter);
  void addCost(int node, size_t value, double seconds);
  void addEdge(int a, int b, std::vector<int64_t> table);
  double seconds(mlir::Type type, const AxisPlacement &from, const AxisPlacement &to) const {
    return costs.moveSeconds(type, from, to);
  }

  const PlacementCosts &costs;
  const PlacementPrices &prices;
  bool sequenceParallel;
  solver::Problem network;
  llvm::DenseMap<mlir::Value, Place> places;
  llvm::MapVector<mlir::Operation *, std::pair<int, std::vector<int>>> ops;
  std::map<std::string, Place> parameters;
  std::map<mlir::Operation *, std::vector<int64_t>> calls;
};

} // namespace dtc
