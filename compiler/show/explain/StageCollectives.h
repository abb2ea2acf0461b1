// Every collective of a stage in a step.
#pragma once

#include "compiler/show/explain/CostedPlan.h"

namespace dtc {

// Collectives of one kind that a stage runs.
struct StageCollective {
  std::string what;  // "layer, forward", "gradients, once a step", ...
  std::string axis;  // "tp", "cp", "ep", "dp", "dp x cp", "pp"
  std::string ranks; // "8 over nvlink, 2 over ib"
  CollectiveKind kind = CollectiveKind::AllReduce;
  double bytes = 0;
  CollectiveChoice choice; // algorithm and seconds of one
  double runs = 0;         // number per step
  double stepSeconds = 0;  // all of them, hidden or not
  // Exposed seconds; nullopt if another row includes them (that of the gradients).
  std::optional<double> exposedSeconds;
};

// In the order of a step: those of the layers, transfers between stages, gradients and parameters.
std::vector<StageCollective> stageCollectives(const Plan &plan, const CostedPlan &costed,
                                              size_t stage);

// The axes over which parameters are the same, or shared out; of folded experts tensor parallelism
// is one. Example: "dp x cp".
std::string replicaAxes(const Decisions &decisions, bool isExpert);

// Returns "8 over nvlink, 16 over ib"; "" for one rank, or if devices are heterogeneous.
std::string ranksText(const RankGroup &group, const Topology &topology);

// Numbers of parameters on each rank of a stage, before ZeRO divides them.
struct StageParameters {
  double dense = 0, expert = 0;
  double summed = 0; // part whose gradients tensor parallelism adds up
};
// Returns the numbers of parameters of a stage.
StageParameters parametersOf(const Plan &plan, const CostedPlan &costed, size_t stage);

} // namespace dtc
