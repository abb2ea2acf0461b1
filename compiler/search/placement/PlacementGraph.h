// The nodes and edges of a placement network. Internal to this folder.
#pragma once

#include "compiler/search/placement/PlacementProblem.h"
#include "compiler/search/solver/Problem.h"

namespace dtc {

// The placement of a tensor under each value of a node; node -1: a fixed placement.
struct PlacementNode {
  int node = -1;
  std::vector<Placement> placements;
};

// Costs of a node's values, and of pairs of two nodes' values: seconds of the collectives that take
// a tensor from where its maker leaves it to where its reader needs it. A tensor with several
// readers has a node of its own, whose values are the sets of placements that it is brought to:
// each collective is paid once.
class PlacementGraph {
public:
  explicit PlacementGraph(const PlacementProblem &problem);

  // Adds a node with a number of values and returns its index.
  int addNode(size_t values);
  // Infinity: the value may not be chosen.
  void addCost(int node, size_t value, double seconds);
  // The same of what prices say: bytes kept for backward, bytes of a parameter with its states, and
  // seconds.
  struct PricedCost {
    int node;
    size_t value;
    double keptBytes = 0, parameterBytes = 0, seconds = 0;
  };
  // Adds a cost that depends on prices.
  void addCost(const PricedCost &cost) { priced.push_back(cost); }
  // Says whether a tensor may be brought from one placement to another.
  using MayMove = llvm::function_ref<bool(const Placement &from, const Placement &to)>;
  // A tensor goes from `source` to all of `needs`.
  void connect(mlir::Type type, const PlacementNode &source, llvm::ArrayRef<PlacementNode> needs,
               MayMove mayMove);
  // A gradient goes to its parameter: sums are finished once a step, anything else is moved every
  // micro-batch.
  void connectGradient(mlir::Type type, const PlacementNode &source, const PlacementNode &parameter,
                       MayMove mayMove);

  // Returns the problem under the given prices.
  solver::Problem problem(const PlacementPrices &prices) const;

private:
  // Seconds from each of some placements to each of others.
  struct MoveTable {
    std::vector<size_t> sources, targets; // index among those that differ
    std::vector<double> seconds;
    size_t width = 0;
    double at(size_t from, size_t to) const { return seconds[sources[from] * width + targets[to]]; }
  };
  // The type of a tensor, and how it may be moved.
  struct Moved {
    mlir::Type type;
    MayMove mayMove;
  };
  MoveTable tableOf(const Moved &tensor, llvm::ArrayRef<Placement> from,
                    llvm::ArrayRef<Placement> to) const;
  void connectOne(const Moved &tensor, const PlacementNode &source, const PlacementNode &need);
  void connectThroughCopies(const Moved &tensor, const PlacementNode &source,
                            llvm::ArrayRef<PlacementNode> needs, llvm::ArrayRef<Placement> targets);
  void addEdge(int a, int b, std::vector<int64_t> table);
  double seconds(const Moved &tensor, const Placement &from, const Placement &to) const;

  const PlacementCosts *costs;
  double microBatches;
  bool mayScatter;                           // sums over tensor parallelism that are not finished
  llvm::SmallVector<unsigned, 2> tensorAxes; // outermost first
  solver::Problem network;                   // costs that do not depend on prices
  std::vector<PricedCost> priced;
};

} // namespace dtc
