// The ops and collectives behind a plan, with the seconds that the planner counts for them.
#pragma once

#include "compiler/decide/plan/ApplyPlan.h"
#include "compiler/decide/plan/Plan.h"
#include "compiler/price/cost/OpCost.h"
#include "compiler/price/estimate/StepEstimate.h"

namespace dtc {

// One op of one micro-batch on one rank.
struct CostedOp {
  std::string name; // "matmul"
  // Parameter that it reads or computes the gradient of; for a layer its pattern.
  std::string parameter;
  CellPhase phase = CellPhase::Forward;
  OpWork work;
  OpTerms terms;
  double seconds = 0;
  double softwareShare = 1; // share of the rate in `terms` that the software's kernel reaches
  bool joined = false;      // to the op before it, in one kernel
  std::bitset<kNumRecomputes> runsAgain; // modes of the layer that repeat the op

  // True if the kernel of another op does its work, such as a product of several weights at once.
  bool isDoneByAnother() const { return seconds == 0; }
};

// One collective of one micro-batch, as seen by one rank.
struct CostedCollective {
  std::string axis; // "tp", "cp", "ep", "pp"
  RankGroup ranks;  // ranks of its group
  double count = 1; // number of equal collectives
  CollectiveKind kind = CollectiveKind::AllReduce;
  CellPhase phase = CellPhase::Forward;
  double bytes = 0;
  CollectiveChoice choice;
  double exposedShare = 1;               // share of its seconds that does not overlap with compute
  std::vector<int> of;                   // the ops of the part that it is there for
  std::bitset<kNumRecomputes> runsAgain; // modes of the layer that repeat the collective
};

// Embedding, head, or a layer that stands for all like it.
struct CostedPart {
  std::string
      // "embedding", "head", "vocabulary", "layer"; of several kinds of layers their function's
      // name.
      name;
  bool isLayer = false;
  std::vector<int64_t> layers; // indices of the layers that it stands for
  size_t stage = 0;            // stage of an embedding or a head
  bool isOnEveryStage = false; // a share of the vocabulary
  std::vector<CostedOp> ops;
  std::vector<CostedCollective> collectives;
  double denseParameters = 0, expertParameters = 0; // elements of a rank that are trained
  double frozenDense = 0, frozenExpert = 0;         // and those that are not
  double sharedGradients = 0; // the trained ones whose gradients tp adds up once a step
  // Elements that ZeRO-3 gathers for one pass forward, and for one pass backward by recomputation.
  struct Gather {
    double dense = 0, expert = 0;
  };
  Gather gatheredForward;
  std::array<Gather, kNumRecomputes> gatheredBackward;
};

// A plan's parts with the costs of their ops and collectives.
struct CostedPlan {
  Topology topology; // the whole system, or one stage's part if devices are heterogeneous
  AxisGroups groups;
  CellPrecision precision;
  Overlap overlap;               // overlap that the software supports
  std::vector<CostedPart> parts; // in the order of the model
  double tiedParameters = 0;     // trained elements that embedding and head share
  double transferBytes = 0;      // bytes of an activation sent from stage to stage
};

// Returns the plan as one stage has it. If the stage is on a part of the system with its own number
// of tensor-parallel ranks, the result has the decisions of that part's stages alone.
Plan planOfStage(Plan plan, const Topology &topology, size_t stage);

// Partitions the plan's model as the planner does and costs its parts. On a cluster of
// heterogeneous devices or links, the costs use those of `stage`. `model` is checked and unbound,
// as planModel wants it.
// Errors: a model or a topology that is not the plan's; a model that can't be partitioned.
Result<CostedPlan> costPlan(const Plan &plan, mlir::ModuleOp model, const Topology &topology,
                            size_t stage);

// Returns how often a stage runs a part per step; runsOf() is for an op or collective of a part,
// which some modes repeat.
double partRunsOf(const CostedPart &part, const Plan &plan, size_t stage);
// Returns how often a stage runs an op or collective per step, if the modes `runsAgain` repeat it.
double runsOf(const CostedPart &part, std::bitset<kNumRecomputes> runsAgain, const Plan &plan,
              size_t stage);

// Returns the number of layers of a stage that a part stands for; 1 for an embedding, a head or a
// vocabulary on it.
int64_t layersOn(const CostedPart &part, const Plan &plan, size_t stage);
// Returns the number of these layers with a recomputation mode.
int64_t layersThat(Recompute recompute, const CostedPart &part, const Plan &plan, size_t stage);

} // namespace dtc
