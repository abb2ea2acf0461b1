// Tells how unevenly the experts of a job are used.
#pragma once

#include "runtime/comm/Control.h"
#include "runtime/exec/ExpertCounts.h"
#include "runtime/format/dte_generated.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace dtc::rt {

// How unevenly rows went to experts in a step.
struct ExpertLoads {
  // The most rows that a rank had in a layer over the mean of the ranks, of the layer where that is
  // most; 1 if each rank has all experts.
  double imbalance = 1;
  // The most exchanges of a layer that had rows: 1 but for programs with a room of experts in which
  // the rows of a step are not. 1 if nobody counted.
  int64_t rounds = 1;
  // The rows of each expert in each layer of experts, on all ranks together; empty if they were not
  // gathered. Layers are numbered from 0, stage by stage of a pipeline.
  std::vector<std::vector<int64_t>> rows = {};
};

// Returns the rows of the expert that has most over the mean of all experts; 1 if there are none.
double loadOf(std::span<const int64_t> rows);

// Returns the largest imbalance of layers: `rows` has those of each rank, `layers` for each, and
// `programs` the number of each rank's program. Ranks of other programs have other layers. 1 if
// there are no rows.
// Example: two ranks of one program with rows {6, 4} and {2, 4}: 1.5 in the first layer, 1 in the
// second.
double imbalanceOf(std::span<const int32_t> rows, size_t layers,
                   std::span<const uint32_t> programs);

// The experts of a rank among those of the job.
struct RankExperts {
  uint32_t program = 0;
  uint32_t layers = 0;      // of experts in its program
  uint32_t firstExpert = 0; // the number of its first expert in a layer
  bool isCopy = false;      // a rank of tensor parallelism counts the same rows
};

// Adds up the rows of all ranks by layer and expert: `rows` has [layers, experts] for each rank, of
// which a rank's own layers are the first ones.
// Example: two ranks of one program and layer, of which the second has the later two of four
// experts, with rows {3, 1} and {0, 4}: {{3, 1, 0, 4}}.
std::vector<std::vector<int64_t>> rowsByExpert(std::span<const int32_t> rows, size_t layers,
                                               size_t experts, std::span<const RankExperts> ranks);

// Measures the loads of a job step by step.
class ExpertLoadMeter {
public:
  // Finds out whether the job has experts. `own`: the sizes of this rank's. Collective.
  Status open(const format::Manifest &manifest, Control &world, const ExpertCounts &own);
  // Sets the loads of a step from this rank's rows; none without experts. Collective.
  Status measure(const ExpertCounts &own, Control &world, std::optional<ExpertLoads> &loads);
  // Adds the rows by layer and expert, if there are loads. Collective.
  Status gather(const ExpertCounts &own, Control &world, std::optional<ExpertLoads> &loads);

private:
  bool hasExperts = false, areApart = false; // on several ranks
  size_t layers = 0, experts = 0;            // the most of any rank
  std::vector<uint32_t> programs;
  std::vector<RankExperts> ranks;
};

} // namespace dtc::rt
