// Reads facts of a forward model that need no plan.
#pragma once

#include "compiler/decide/plan/Architecture.h"
#include "dialects/graph/Graph.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace dtc {

// Facts of a model: its sizes, architecture and flops.
struct ModelFacts {
  std::string name;
  int64_t parameters = 0;     // elements of all parameters
  int64_t frozen = 0;         // of these, elements that are not trained
  int64_t layers = 0;         // calls of blocks by '@loss'
  int64_t sequenceLength = 0; // 0 where the model has no sequences
  int64_t experts = 1;        // number of experts of a mixture; 1: dense
  // Groups of a sequence's tokens that are routed apart from each other, in the block with the
  // fewest; 1 of a dense model.
  int64_t tokenGroups = 1;
  // Heads of keys and values, in the attention with the fewest; 0: there is none.
  int64_t kvHeads = 0;
  // Some attention sees fewer keys than a sequence has: a sliding window.
  bool slides = false;
  // Kinds of context parallelism (bits by ContextKind) that programs of the model may have unasked:
  // see contextKindsOf.
  uint32_t contextKinds = 0;
  uint32_t attentionKinds = 0; // see attentionKindsOf
  // Elements of the logits of a sample, of which programs can compute the loss in chunks; 0: none.
  int64_t logits = 0;
  // Some op needs statistics of the whole batch, so that a step has one micro-batch.
  bool needsWholeBatch = false;
  // The loss has a product of means over the batch of what layers of experts carry along.
  bool multipliesMeansOfExperts = false;
  // It looks words up in tables that nothing else reads, as an output layer does that is tied.
  bool untied = false;
  ModelArchitecture architecture;
  // Model flops of one sample, forward and backward, as Megatron-LM counts them: matrix products
  // only, attention's included and counted in full, backward twice the forward; where parameters
  // are frozen, for what is trained alone. Of experts, the rows that tokens fill when all experts
  // are used equally.
  double flopsPerSample = 0;
  // The same with half of the products of causal attention, what a kernel does that skips masked
  // pairs.
  double causalFlopsPerSample = 0;
  // Hash of all ops with their types and integers, in hexadecimal: it differs between models with
  // different numbers of heads, and is equal for models that differ in names or in an epsilon.
  std::string shape;
};

// `module` holds '@loss' with an unbound batch (checkModel).
ModelFacts readModelFacts(mlir::ModuleOp module);

} // namespace dtc
