// Tells how unevenly the experts of a job are used.
#pragma once

#include "runtime/comm/Control.h"
#include "runtime/format/dte_generated.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace dtc::rt {

// How unevenly rows went to ranks in a step.
struct ExpertLoads {
  // The most rows that a rank had in a layer over the mean of the ranks, of the layer where that is
  // most; 1 if each rank has all experts, NaN if nobody counted, as on GPUs.
  double imbalance = 1;
  // The most exchanges of a layer that had rows: 1 but for programs with a room of experts in which
  // the rows of a step are not. 1 if nobody counted.
  int64_t rounds = 1;
};

// Returns the largest imbalance of layers: `rows` has those of each rank, `layers` for each, and
// `programs` the number of each rank's program. Ranks of other programs have other layers. 1 if
// there are no rows.
// Example: two ranks of one program with rows {6, 4} and {2, 4}: 1.5 in the first layer, 1 in the
// second.
double imbalanceOf(std::span<const int32_t> rows, size_t layers,
                   std::span<const uint32_t> programs);

// Measures the loads of a job step by step.
class ExpertLoadMeter {
public:
  // Finds out whether the job has experts. `layers`: of this rank's ExpertRows. Collective.
  Status open(const format::Manifest &manifest, Control &world, size_t layers);
  // Sets the loads of a step from the rows of this rank's layers and their most rounds; none
  // without experts. Collective.
  Status measure(std::span<const int64_t> rows, int64_t rounds, Control &world,
                 std::optional<ExpertLoads> &loads);

private:
  bool hasExperts = false, areApart = false; // on several ranks
  size_t layers = 0;                         // the most of any rank
  std::vector<uint32_t> programs;
};

} // namespace dtc::rt
