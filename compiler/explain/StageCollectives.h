// Every collective of a stage in a step.
#pragma once

#include "compiler/explain/CostedPlan.h"

namespace dtc {

struct StageCollective {
  std::string what;  // "layer, forward", "gradients, once a step", ...
  std::string axis;  // "tp", "cp", "ep", "dp", "dp x cp", "pp"
  std::string ranks; // "8 over nvlink, 2 over ib"
  CollectiveKind kind = CollectiveKind::AllReduce;
  double bytes = 0;
  CollectiveChoice choice; // of one
  double runs = 0;         // of a step
  double stepSeconds = 0;  // all of them, hidden or not
  // What the stage waits for; nothing where it is part of another row's, that of the gradients.
  std::optional<double> exposedSeconds;
};

// In the order of a step: those of the layers, transfers between stages, gradients and parameters.
std::vector<StageCollective> stageCollectives(const Plan &plan, const CostedPlan &costed,
                                              size_t stage);

// The axes over which parameters are the same, or shared out; of folded experts tensor parallelism is
// one. Example: "dp x cp".
std::string replicaAxes(const Decisions &decisions, bool isExpert);

// "8 over nvlink, 16 over ib"; "" of one rank, or where devices are not all alike.
std::string ranksText(const RankGroup &group, const Topology &topology);

// Which elements of parameters are on a stage, on each of its ranks, before ZeRO divides them.
struct StageParameters {
  double dense = 0, expert = 0;
  double summed = 0; // of them those whose gradients tensor parallelism adds up
};
StageParameters parametersOf(const Plan &plan, const CostedPlan &costed, size_t stage);

} // namespace dtc
