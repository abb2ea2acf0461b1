// Enumerates everything that the planner may choose for one model on one cluster. Internal to this
// folder.
#pragma once

#include "compiler/price/estimate/StepEstimate.h"
#include "compiler/price/workload/ModelFacts.h"
#include "compiler/search/planner/LegalPlans.h"

#include "llvm/ADT/SmallVector.h"

namespace dtc {

// The limits of the search space: sizes of the model, the system, and what the software supports.
struct SpaceLimits {
  std::string topologyName;
  int64_t devices = 1, globalBatch = 1, layers = 1, sequence = 1, experts = 1;
  int64_t tokenGroups = 1; // per sequence, as in ModelFacts: groups that routers keep apart
  int64_t kvHeads = 0;     // see ModelFacts; 0: none
  int64_t heads = 0, inner = 0, vocabulary = 0; // see ModelArchitecture; 0: none
  bool slides = false;                          // see ModelFacts
  bool needsWholeBatch = false;                 // see ModelFacts
  bool untied = false;     // Embedding and output layer have parameters of their own.
  bool executable = false; // only what 'dtc compile' lowers today
  // Least number of instructions of an executable per micro-batch and layer; 0: not known.
  int64_t instructionsOfLayer = 0;
  std::optional<LegalSpace> space; // space of the software; nullopt: everything that can be costed
  // Placements over tensor parallelism are searched too.
  bool searchesPlacements = false;
  // The size of gradient buckets is searched, and whether gradients overlap; otherwise the
  // software's own size is used.
  bool choosesBuckets = true;
  // Groups of equal devices, if devices or links differ. Pipeline stages are outermost then, so
  // that each stage is on one group, and visit the groups in every order of partOrders.
  std::vector<DeviceGroup> groups;
  // Optimizer states may be in the host's memory, whose sizes are known.
  bool mayOffload = false;
  // Saved activations may be in the host's memory.
  bool mayOffloadActivations = false;
};

// Returns true if the software, and 'dtc compile' if required, supports the decisions, the mesh
// aside.
bool isAllowed(const Decisions &decisions, const SpaceLimits &limits);

// Returns the largest number of chunks into which a model's layers may be cut. If stages may be
// uneven, embedding and head can have a chunk each, without layers.
int64_t mostChunks(const SpaceLimits &limits);

// A way of context parallelism of a mesh that the model and the software support. Heads are spread
// over ranks in equal numbers, and so are the heads of keys and values (TransformerEngine's
// context_parallel.py requires it of cp). Sliding windows go around a ring if the software supports
// it.
struct ContextChoice {
  ContextKind kind;
  int64_t inner = 1;
};
// Returns the ways of context parallelism for a mesh; see ContextChoice.
std::vector<ContextChoice> contextChoices(Decisions mesh, const SpaceLimits &limits,
                                          const Pins &pins);

// Returns all meshes in a fixed order: devices on axes, kinds of context parallelism, order of
// axes, and micro-batch. The decisions of enumerateDetails are left at their defaults. Pins hold.
// Errors: a pin that can't divide, with the nearest value that does; a space without meshes.
Result<std::vector<Decisions>> enumerateMeshes(const SpaceLimits &limits, const Pins &pins);

// Returns the algorithms by which stages may share the vocabulary beside the other decisions. 0,
// none, is included unless a pin says otherwise.
llvm::SmallVector<int64_t, 3> vocabularyChoices(Decisions decisions, const SpaceLimits &limits,
                                                const Pins &pins);

// Returns the mesh with every ZeRO stage, schedule, number of virtual stages and recomputation.
// Each is followed by itself with the optimizer on the host if that is allowed. ZeRO is over all of
// dp unless a pin says otherwise; enumerateGroups lists the groups.
std::vector<Decisions> enumerateDetails(const Decisions &mesh, const SpaceLimits &limits,
                                        const Pins &pins);

// Returns plans that engineers set by hand: Megatron's (tensor parallelism inside a node, as few
// pipeline stages as fit, ZeRO-1) and FSDP's (ZeRO-3 over all devices), as far as limits and pins
// allow them.
std::vector<Decisions> expertTemplates(const SpaceLimits &limits, const Pins &pins,
                                       int64_t devicesPerNode);

} // namespace dtc
