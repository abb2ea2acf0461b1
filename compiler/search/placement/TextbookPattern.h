// Describes what tensor parallelism does in software that has it written by hand. Internal to this
// folder.
#pragma once

#include "compiler/price/workload/DimRoles.h"
#include "compiler/search/placement/PlacementProblem.h"
#include "compiler/search/placement/WeightClasses.h"

namespace dtc {

// Megatron's layers (Shoeybi et al. 2019, arXiv:1909.08053; with sequence parallelism
// Korthikanti et al. 2022, arXiv:2205.05198), which torchtitan, MaxText and others have, too:
// - a product is split along the loops of its weight, never along tokens; attention along heads;
// - everything else has parts of the channels that a product left it or, under sequence
//   parallelism, parts of the sequence, which are gathered for a product and again for its
//   gradients; else all ranks do the same;
// - a table of words is split by words, and what no product reads is whole unless it belongs to
//   channels that are split;
// - what moves are activations: sums are finished or scattered over the sequence, and parts of
//   the sequence are gathered. No weight and no gradient of one is gathered, and no heads are
//   exchanged.
//
// Products with the weights of routers, which tell experts, are computed by all ranks of their own
// tokens, or of all. Where ranks share a kv head (HeadOps), they gather and scatter its parts.
//
// Under other patterns of a problem everything is allowed.
class TextbookPattern {
public:
  TextbookPattern(const PlacementProblem &problem, const DimRoles &roles,
                  const WeightClasses &weights);

  // Returns whether tensor parallelism may split the op along the loop.
  bool maySplit(mlir::Operation *op, const graph::OpRule &rule, unsigned loop) const;
  // Returns whether all ranks may run the whole op, although it may be split along one of `loops`.
  // Weights that are split keep their products from it, as no rank has them whole; under sequence
  // parallelism what works on the stream of activations has parts of it.
  bool mayRepeat(mlir::Operation *op, const graph::OpRule &rule,
                 llvm::ArrayRef<unsigned> loops) const;
  // Returns whether tensor parallelism may bring a tensor from one placement to another.
  bool mayMove(mlir::Value value, const Placement &from, const Placement &to) const;

  // Returns whether parameters of the class may be placed so.
  bool mayRest(unsigned weightClass, const Placement &placement) const;
  // Returns whether the class is a table of words, which has to be split.
  bool isTable(unsigned weightClass) const;

private:
  bool hasSamples(mlir::Value value) const { return roles.bitsOf(value) & ScalesWithBatch; }
  bool isOfSequence(mlir::Value value, int64_t dim) const;
  bool isOfStream(mlir::Value value) const;
  bool isOfRouter(mlir::Operation *op) const;
  bool isOfWeights(mlir::Operation *op, const graph::OpRule &rule, unsigned loop) const;

  bool isActive, sequenceParallel;
  llvm::SmallVector<unsigned, 2> tensorAxes; // outermost first
  const DimRoles &roles;
  const WeightClasses &weights;
  // Per class: the roles of each dim, and whether a router reads it.
  std::vector<llvm::SmallVector<uint8_t, 4>> dims;
  std::vector<bool> isRouters;
};

} // namespace dtc
