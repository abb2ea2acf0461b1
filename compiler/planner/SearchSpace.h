// Everything that the planner may choose for one model on one cluster. Internal to this folder.
#pragma once

#include "compiler/planner/LegalPlans.h"
#include "compiler/workload/ModelFacts.h"

namespace dtc {

// What bounds the choices.
struct SpaceLimits {
  std::string topologyName;
  int64_t devices = 1, globalBatch = 1, layers = 1, sequence = 1, experts = 1;
  int64_t tokenGroups = 1;         // of a sequence, that routers tell apart: as in ModelFacts
  int64_t kvHeads = 0;             // that serve several query heads each: as in ModelFacts
  bool executable = false;         // only what 'dtc compile' lowers today
  std::optional<LegalSpace> space; // of the software; nothing: all that can be costed
  // Placements over tensor parallelism are searched too.
  bool searchesPlacements = false;
  // Where devices or links differ, their groups: pipeline stages are then outermost, so that each
  // is on a part of the system, and go over the parts in every order of partOrders.
  std::vector<DeviceGroup> groups;
  // Optimizer states may be in the host's memory: something is known of it.
  bool mayOffload = false;
};

// Decisions without those of the second kind below: devices on axes, order, micro-batch.
// All of them, in a fixed order; pins hold. Errors: a pin that can't divide, with the nearest that
// does; nothing left.
Result<std::vector<Decisions>> enumerateMeshes(const SpaceLimits &limits, const Pins &pins);

// The same mesh with every ZeRO stage, schedule, number of virtual stages and recomputation; each
// followed by itself with the optimizer on the host, where that is a choice.
std::vector<Decisions> enumerateDetails(const Decisions &mesh, const SpaceLimits &limits,
                                        const Pins &pins);

// What engineers set by hand: Megatron's (tensor parallelism inside a node, as little pipeline as
// fits, ZeRO-1) and FSDP's (ZeRO-3 over all devices). Those of them that the limits and pins allow.
std::vector<Decisions> expertTemplates(const SpaceLimits &limits, const Pins &pins,
                                       int64_t devicesPerNode);

} // namespace dtc
