// Which devices each pipeline stage has, on systems with devices or links of several kinds.
// Internal to this folder.
#pragma once

#include "compiler/topology/Topology.h"

namespace dtc {

struct Decisions;

struct StagePlaces {
  std::vector<Topology> kinds; // what stages are made of, each once
  // Of each kind: its part of the system as DeviceGroups are counted, or their number where it spans several; and where
  // in a node of the part, or in the system, it begins.
  std::vector<std::pair<size_t, int64_t>> whereOfKind;
  std::vector<size_t> kindOfStage; // by stage; empty where all stages are alike
  // From each stage to the next, of one rank while all of the stage send.
  std::vector<Path> boundaries;

  bool empty() const { return kindOfStage.empty(); }
};

// Stages take devices in the order that Decisions::partOrder says.
// Empty for a uniform topology or without a pipeline: all stages are then on the conservative
// system that the topology itself is. Wants pipeline stages outermost in the order of axes.
StagePlaces placeStages(const Decisions &decisions, const Topology &topology);

// The ranks of a stage.
std::vector<int64_t> ranksOfStage(const Decisions &decisions, const Topology &topology,
                                  int64_t stage);

} // namespace dtc
