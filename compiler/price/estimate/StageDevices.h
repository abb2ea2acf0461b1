// The devices of each pipeline stage, on systems with devices or links of several kinds. Internal
// to this folder.
#pragma once

#include "compiler/describe/topology/Topology.h"

namespace dtc {

struct Decisions;

// The devices of each pipeline stage; empty if all stages have equal ones.
struct StageDevices {
  std::vector<Topology> kinds; // distinct topologies of stages
  // The location of each kind: the index of its DeviceGroup, or the number of groups if it spans
  // several; and the offset of its first device in a node of the group, or in the system.
  std::vector<std::pair<size_t, int64_t>> whereOfKind;
  // Index into kinds, by stage; empty if all stages have equal devices.
  std::vector<size_t> kindOfStage;
  // The path from each stage to the next, of one rank while all ranks of the stage send.
  std::vector<Path> boundaries;

  // Returns true if all stages have equal devices.
  bool empty() const { return kindOfStage.empty(); }
};

// Returns the devices of the stages, which take them in the order of Decisions::partOrder. Empty
// for a uniform topology or without a pipeline: all stages are then on the topology itself, which
// is conservative. Needs pp as the outermost axis.
StageDevices devicesOfStages(const Decisions &decisions, const Topology &topology);

// Returns the ranks of a stage.
std::vector<int64_t> ranksOfStage(const Decisions &decisions, const Topology &topology,
                                  int64_t stage);

} // namespace dtc
