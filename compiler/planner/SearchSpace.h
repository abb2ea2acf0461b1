// Everything that the planner may choose for one model on one cluster. Internal to this folder.
#pragma once

#include "compiler/estimate/StepEstimate.h"
#include "compiler/planner/LegalPlans.h"
#include "compiler/workload/ModelFacts.h"

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
  bool untied = false;     // embedding and output layer have parameters of their own
  bool executable = false; // only what 'dtc compile' lowers today
  // Executables: least number of instructions per micro-batch and layer; 0: not known.
  int64_t instructionsOfLayer = 0;
  std::optional<LegalSpace> space; // space of the software; nullopt: everything that can be costed
  // Placements over tensor parallelism are searched too.
  bool searchesPlacements = false;
  // The size of gradient buckets is searched, and with it whether gradients overlap; else it is the
  // software's own.
  bool choosesBuckets = true;
  // Groups of equal devices, if devices or links differ. Pipeline stages are outermost then, so
  // that each stage is on one group, and visit the groups in every order of partOrders.
  std::vector<DeviceGroup> groups;
  // Optimizer states may be in the host's memory: something is known of it.
  bool mayOffload = false;
  // The same of what layers keep.
  bool mayOffloadActivations = false;
};

// Returns true if the software, and 'dtc compile' if required, supports the decisions, the mesh
// aside.
bool isAllowed(const Decisions &decisions, const SpaceLimits &limits);

// Into so many chunks a model's layers may be cut: where stages may be uneven, embedding and head
// can have a chunk each, without layers.
int64_t mostChunks(const SpaceLimits &limits);

// Ways of context parallelism of a mesh: of those that the model and the software have. Heads are
// spread over ranks in equal numbers, keys and values alike (TransformerEngine,
// context_parallel.py, wants that of cp); sliding windows go around a ring where the software's do.
struct ContextChoice {
  ContextKind kind;
  int64_t inner = 1;
};
// Returns the ways of context parallelism for a mesh; see ContextChoice.
std::vector<ContextChoice> contextChoices(Decisions mesh, const SpaceLimits &limits,
                                          const Pins &pins);

// Decisions without those of the second kind below: devices on axes, how those of cp meet, order,
// micro-batch. All of them, in a fixed order; pins hold. Errors: a pin that can't divide, with the
// nearest that does; nothing left.
Result<std::vector<Decisions>> enumerateMeshes(const SpaceLimits &limits, const Pins &pins);

// Algorithms by which stages may share the vocabulary out beside the other decisions; 0, none, is
// one unless a pin says otherwise.
llvm::SmallVector<int64_t, 3> vocabularyChoices(Decisions decisions, const SpaceLimits &limits,
                                                const Pins &pins);

// The same mesh with every ZeRO stage, schedule, number of virtual stages and recomputation; each
// followed by itself with the optimizer on the host, where that is a choice. ZeRO is over all of dp
// unless a pin says otherwise: groups are for enumerateGroups.
std::vector<Decisions> enumerateDetails(const Decisions &mesh, const SpaceLimits &limits,
                                        const Pins &pins);

// Returns plans that engineers set by hand: Megatron's (tensor parallelism inside a node, as few
// pipeline stages as fit, ZeRO-1) and FSDP's (ZeRO-3 over all devices), as far as limits and pins
// allow them.
std::vector<Decisions> expertTemplates(const SpaceLimits &limits, const Pins &pins,
                                       int64_t devicesPerNode);

} // namespace dtc
