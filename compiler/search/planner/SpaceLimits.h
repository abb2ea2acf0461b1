// The limits of the search space of one model on one cluster, and the decisions within them.
// Internal to this folder.
#pragma once

#include "compiler/decide/decisions/Decisions.h"
#include "compiler/decide/decisions/LegalSpace.h"
#include "compiler/describe/topology/Topology.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dtc {

// The limits of the search space: sizes of the model, the system, and what the software supports.
struct SpaceLimits {
  std::string topologyName;
  int64_t devices = 1, globalBatch = 1, layers = 1, sequence = 1, experts = 1;
  int64_t tokenGroups = 1; // per sequence, as in ModelFacts: groups that routers keep apart
  int64_t kvHeads = 0;     // see ModelFacts; 0: none
  int64_t heads = 0, inner = 0, vocabulary = 0; // see ModelArchitecture; 0: none
  bool slides = false;                          // see ModelFacts
  uint32_t contextKinds = 0;                    // see ModelFacts
  uint32_t attentionKinds = ~0u;                // see ModelFacts
  int64_t logits = 0;                           // see ModelFacts
  double memoryBytes = 0;                       // of a device that plans may use; 0: not known
  bool needsWholeBatch = false;                 // see ModelFacts
  // A step of one stage alone can be compiled: see ModelFacts::multipliesMeansOfExperts.
  bool needsOneStage = false;
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
  // Programs exchange the rows of experts on several ranks (RowExchange).
  bool exchangesRows = false;
};

// Returns true if a pin, if there is one, is the value.
inline bool permits(const std::optional<int64_t> &pin, int64_t value) {
  return !pin || *pin == value;
}

// Returns true if the software, and 'dtc compile' if required, supports the decisions, the mesh
// aside.
bool isAllowed(const Decisions &decisions, const SpaceLimits &limits);

// Returns the largest number of chunks into which a model's layers may be cut. If stages may be
// uneven, embedding and head can have a chunk each, without layers.
int64_t mostChunks(const SpaceLimits &limits);

} // namespace dtc
