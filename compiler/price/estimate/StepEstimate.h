// Time and memory of one training step under a complete set of decisions.
#pragma once

#include "compiler/price/estimate/EstimateRequest.h"
#include "compiler/price/estimate/ModelCost.h"
#include "compiler/price/estimate/StageEstimate.h"

#include <algorithm>
#include <memory>

namespace dtc {

// The time and memory of one training step; seconds are of the whole step.
struct StepEstimate {
  double stepSeconds = 0;
  double bubbleSeconds = 0;    // idle time of the mean stage
  double computeSeconds = 0;   // kernels of the slowest stage, recomputation included
  double recomputeSeconds = 0; // part of these
  double exposedTpSeconds = 0, exposedCpSeconds = 0, exposedEpSeconds = 0;
  double exposedGradientSeconds = 0, p2pSeconds = 0, optimizerSeconds = 0;
  // Exposed collectives of ZeRO-2 and 3 in each layer and micro-batch: parameters gathered,
  // gradients scattered.
  double exposedGatherSeconds = 0;
  double exposedHostSeconds = 0; // exposed copies of offloaded activations
  int64_t bucketBytes = 0;       // bucket size of gradients, or kStackBuckets
  double transferSeconds = 0;    // one activation from a stage to the next, at the slowest boundary
  std::vector<double> transfers; // one per boundary between stages, if these differ
  double loopSeconds = 0;        // all micro-batches through all stages
  double vocabularySeconds = 0;  // part of these: dtc::vocabularySeconds
  std::vector<StageEstimate> stages;
  double peakBytes = 0; // bytes of the fullest stage
  size_t fullestStage = 0, slowestStage = 0;
  bool fits = true;
  // The largest ratio of needed to available memory over all stages, of a device or of its share of
  // the host. The step fits up to 1.
  double memoryNeed = 0;
  bool hostIsShort = false;
  double hostBytes = 0, hostLimitBytes = 0; // a device's share of its host, at that stage
  // A lower bound of a step of the same decisions with the optimizer on the host. Infinite if none
  // fits.
  double leastWithHostSeconds = 0;
  // True: with the optimizer on the host stages stay as they are and the update is no faster, so
  // that only memory would be gained.
  bool hostGainsMemoryAlone = false;
  double leastLoopSeconds = 0; // lower bound of loopSeconds after refinement
  bool isRefined = false;      // loopSeconds is that of the schedule itself
  // Memory affects the cut: some stage of the usual one has to recompute more.
  bool isCutByMemory = false;
  // The cut differs from the usual one, for memory or for more equal stages.
  bool isMoved = false;

  // A lower bound of the slowest stage's seconds per micro-batch, over all cuts; 0 on heterogeneous
  // devices.
  double leastSlowestSeconds = 0;
  // The same bound over cuts in which all stages fit, with the recomputation that this takes; 0 on
  // heterogeneous devices, and if memory does not affect the cut.
  double leastSlowestThatFits = 0;
  // The same step in its other cut, if only the schedules tell which is faster; refining takes the
  // faster one.
  std::shared_ptr<const StepEstimate> otherCut;

  // Returns a lower bound of stepSeconds after refinement.
  double leastSeconds() const {
    double own = stepSeconds - loopSeconds + leastLoopSeconds;
    return otherCut ? std::min(own, otherCut->leastSeconds()) : own;
  }
  // Returns the exposed seconds of all communication.
  double exposedCommSeconds() const {
    return exposedTpSeconds + exposedCpSeconds + exposedEpSeconds + exposedGatherSeconds +
           exposedHostSeconds + exposedGradientSeconds + p2pSeconds;
  }
};

// Estimates a step. Cuts the chain of layers into pp x virtualStages chunks so that the slowest
// stage is as fast as possible, chooses recomputation per stage, and adds up. Recomputation that
// makes stages fit counts in the cut; if layers have no choice, a cut in which all stages fit is
// taken if there is one. The pipeline's time is the schedule's closed form with unequal stages, or
// its lower bound if that is more; refineBySchedule makes it exact. Needs pp x virtualStages <=
// mostChunksOf(layers).
StepEstimate estimateStep(const ModelCost &model, const Decisions &decisions,
                          const EstimateRequest &request);

// Returns the pipeline of a step for the scheduler and the simulator, without a memory cap and
// without the passes of a shared vocabulary.
PipelineProblem pipelineOf(const StepEstimate &step, const Decisions &decisions);

// Returns the seconds by which the schedule of a refined step would end sooner if transfers were
// free.
double exposedTransferSeconds(const StepEstimate &step, const Decisions &decisions);

// Replaces the closed form of the pipeline's time by the makespan of the schedule itself; of two
// cuts takes the faster.
void refineBySchedule(StepEstimate &step, const Decisions &decisions);

} // namespace dtc
