// Assigns devices to pipeline stages on systems with several kinds of devices or links. Internal to
// this folder.
#pragma once

#include "compiler/topology/Topology.h"

namespace dtc {

struct Decisions;

// The devices of each pipeline stage.
struct StagePlaces {
  std::vector<Topology> kinds; // the distinct kinds of devices that stages have
  // Per kind: the index of its device group, or the number of groups if it spans several; and its
  // first position within a node of the group, or in the system.
  std::vector<std::pair<size_t, int64_t>> whereOfKind;
  std::vector<size_t> kindOfStage; // kind of each stage; empty if all stages are equal
  // Paths from each stage to the next, for one rank while all ranks of the stage send.
  std::vector<Path> boundaries;

  // Returns true if all stages are equal.
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
