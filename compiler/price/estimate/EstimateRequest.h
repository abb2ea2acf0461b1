// The inputs of an estimate of a step besides the model and its decisions.
#pragma once

#include "compiler/decide/decisions/Decisions.h"
#include "compiler/price/estimate/CellCost.h"
#include "compiler/price/estimate/GradientCollectives.h"

#include <bitset>
#include <cstdint>
#include <vector>

namespace dtc {

class ProgramMemory;
class SharedEstimates;

// The inputs of an estimate besides the model and its decisions.
struct EstimateRequest {
  const Topology *topology = nullptr;
  // Needed to make cells; estimates see only its effect on them.
  const SoftwareStack *software = nullptr;
  CellPrecision precision;
  double memoryLimit = 0; // bytes of a device that a plan may use
  // Bucket sizes of gradients; the planner takes the best one.
  std::vector<int64_t> bucketSizes{kStackBuckets};
  // The same for pipelines alone, if these differ.
  std::vector<int64_t> bucketSizesOfPipelines{};
  // The ZeRO stages, a bit each, whose gradients travel as one bucket without a pipeline.
  std::bitset<4> zeroThatReducesLast{};
  // Returns the bucket sizes to try under the decisions.
  const std::vector<int64_t> &bucketSizesOf(const Decisions &d) const {
    static const std::vector<int64_t> one{kOneBucket};
    return d.pp == 1 && zeroThatReducesLast[static_cast<size_t>(d.zero)] ? one
           : d.pp > 1 && !bucketSizesOfPipelines.empty()                 ? bucketSizesOfPipelines
                                                                         : bucketSizes;
  }
  // True: memoryLimit is that of the weakest device, and each heterogeneous device has its own
  // limit.
  bool isLimitOfDevice = false;
  double usableShare = 1; // share of a device's memory that is in memoryLimit
  // True: memory decides nothing. No layer recomputes or is offloaded so that its stage fits, and
  // no cut is moved; the limit only says whether a step fits.
  bool ignoresMemory = false;
  // True: stages whose layers have no choice, or all the same one, are cut so that they fit. False
  // for runs that people have planned.
  bool cutsToFit = true;
  // If given, the memory of steps that dtc compiles is that of their programs.
  ProgramMemory *programs = nullptr;
  // If given, results that decisions have in common are computed once.
  SharedEstimates *shared = nullptr;
};

} // namespace dtc
