// The inputs of placing a step.
#pragma once

#include "compiler/decide/plan/OpSplits.h"
#include "compiler/search/placement/PlacementCosts.h"

namespace dtc {

// Prices of memory, and the number of micro-batches that share costs paid once per step.
struct PlacementPrices {
  double secondsPerKeptByte = 0, secondsPerParameterByte = 0;
  double microBatches = 8;
};

// Says what tensor parallelism may split.
enum class TensorPattern {
  Any,          // every loop that rules let split
  SplitWeights, // products, and their weights, wherever a loop or dim is long enough; sums are
                // scattered under sequence parallelism alone
  Textbook,     // the same, and nothing but what Megatron's layers do (TextbookPattern)
};

// The inputs of a network.
struct PlacementProblem {
  mlir::ModuleOp step; // after the graph phase; parameters that have a placement keep it
  const Mesh &mesh;
  bool sequenceParallel = false;
  TensorPattern pattern = TensorPattern::Any;
  // Whole experts, each of which takes tokens of all ranks: tensor parallelism splits what is made
  // for experts along tokens, and no weight of theirs.
  bool foldsExperts = false;
  const OpSplits *planned = nullptr;     // choices on the axes of tensor parallelism
  const PlacementCosts *costs = nullptr; // null: for telling alone, costs are 0
  PlacementPrices prices = {};

  // Returns true if weights have to be split.
  bool splitsWeights() const { return pattern != TensorPattern::Any; }
};

} // namespace dtc
