// Time and memory of one training step under a complete set of decisions.
#pragma once

#include "compiler/estimate/Buckets.h"
#include "compiler/estimate/GradientExchange.h"
#include "compiler/estimate/ModelCost.h"
#include "compiler/estimate/StageEstimate.h"

#include <algorithm>
#include <bitset>
#include <memory>

namespace dtc {

class ProgramMemory;
class SharedEstimates;

// The predicted seconds and memory of one training step.
struct StepEstimate {
  double stepSeconds = 0;
  double bubbleSeconds = 0;    // idle time of the mean stage
  double computeSeconds = 0;   // kernels of the slowest stage, recomputation included
  double recomputeSeconds = 0; // part of computeSeconds
  double exposedTpSeconds = 0, exposedCpSeconds = 0, exposedEpSeconds = 0;
  double exposedGradientSeconds = 0, p2pSeconds = 0, optimizerSeconds = 0;
  // Exposed seconds of ZeRO-2 and 3 per layer and micro-batch: gathers of parameters,
  // reduce-scatters of gradients.
  double exposedGatherSeconds = 0;
  double exposedHostSeconds = 0; // copies of what layers keep on the host
  int64_t bucketBytes = 0;       // in which gradients travel, or kStackBuckets
  // Seconds to send one activation to the next stage, at the slowest boundary.
  double transferSeconds = 0;
  std::vector<double> transfers; // seconds by boundary between stages, if they differ
  double loopSeconds = 0;        // all micro-batches through all stages
  double vocabularySeconds = 0;  // part of loopSeconds; see StageCoster::vocabularySeconds
  std::vector<StageEstimate> stages;
  double peakBytes = 0; // bytes of the fullest stage
  size_t fullestStage = 0, slowestStage = 0;
  bool fits = true;
  // Required memory as a multiple of the available one, for the scarcer of device and host memory,
  // at the device that needs most. The step fits up to 1.
  double memoryNeed = 0;
  bool hostIsShort = false;
  // Bytes of a device's share of its host, if that is scarce.
  double hostBytes = 0, hostLimitBytes = 0;
  // No step of the same decisions with the optimizer on the host is faster; infinite where none
  // fits, or where nothing would be gained: stages are as they are, and the update is slower.
  double leastWithHostSeconds = 0;
  double leastLoopSeconds = 0; // lower bound of loopSeconds after refinement
  bool isRefined = false;      // loopSeconds is that of the schedule itself
  // Memory has a say in the cut: some stage of the usual one has to recompute more.
  bool isCutByMemory = false;
  bool isMoved = false; // and the cut is another one for it

  // Lower bound of the slowest stage's seconds per micro-batch over all cuts; 0 on heterogeneous
  // devices.
  double leastSlowestSeconds = 0;
  // The same bound over the cuts in which all stages fit, by the savings of their layers; 0 on
  // heterogeneous devices, and if memory does not influence the cut.
  double leastSlowestThatFits = 0;
  // The same step in its other cut, where only their schedules tell which is faster; refining takes
  // that one.
  std::shared_ptr<const StepEstimate> otherCut;

  // The step can't be faster than this when it is refined.
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

// The settings of an estimate.
struct EstimateRequest {
  const Topology *topology = nullptr;
  const SoftwareStack *software =
      nullptr; // for who makes cells: estimates know what it made of them
  CellPrecision precision;
  double memoryLimit = 0; // bytes of a device that a plan may use
  // Candidate sizes of gradient buckets; the estimate takes the best.
  std::vector<int64_t> bucketSizes{kStackBuckets};
  // The same of pipelines alone, where these are told apart.
  std::vector<int64_t> bucketSizesOfPipelines{};
  // A bit for each ZeRO stage whose gradients, without a pipeline, are reduced as one bucket.
  std::bitset<4> zeroThatReducesLast{};
  // Returns the candidate bucket sizes for the decisions.
  const std::vector<int64_t> &bucketSizesOf(const Decisions &d) const {
    static const std::vector<int64_t> one{kOneBucket};
    return d.pp == 1 && zeroThatReducesLast[static_cast<size_t>(d.zero)] ? one
           : d.pp > 1 && !bucketSizesOfPipelines.empty()                 ? bucketSizesOfPipelines
                                                                         : bucketSizes;
  }
  // The limit is what the weakest device has: where devices differ, each has its own.
  bool isLimitOfDevice = false;
  double usableShare = 1; // usable share of a device's memory, as in memoryLimit
  // Nothing is decided for the sake of memory: no layer recomputes or leaves the device so that its
  // stage fits, and no cut is moved. The limit only says whether a step fits.
  bool ignoresMemory = false;
  // Stages whose layers have no choice, or all the same one, are cut so that they fit. False for
  // runs that people have planned.
  bool cutsToFit = true;
  // If set, plans that dtc compiles get the memory of their programs.
  ProgramMemory *programs = nullptr;
  // If set, caches results that decisions share.
  SharedEstimates *shared = nullptr;
};

// Returns the decisions with the bucket size that the estimate chose; kOneBucket means no overlap.
Decisions withBuckets(const Decisions &decisions, int64_t bucketBytes);

// Estimates a step: cuts the chain of layers into pp x virtualStages chunks so that the slowest
// stage is as fast as possible, chooses recomputation per stage, and adds up. If stages have to
// recompute more to fit, the cut takes this into account; if their layers have no choice, a cut in
// which all stages fit is taken if there is one. The pipeline's time is that of the schedule's
// closed form with unequal stages, or its lower bound if that is more; refineBySchedule makes it
// exact. Requires layers >= pp x virtualStages.
StepEstimate estimateStep(const ModelCost &model, const Decisions &decisions,
                          const EstimateRequest &request);

// Returns the pipeline of a step for the scheduler and the simulator, without a memory cap and
// without vocabulary passes.
PipelineProblem pipelineOf(const StepEstimate &step, const Decisions &decisions);

// Returns a lower bound of the seconds of the same decisions with ZeRO within groups of ranks, on
// homogeneous devices: groups need more memory, and save at most the collectives between ranks of
// dp. Infinite if no such step can fit; 0 if nothing is known, as for pipelines under ZeRO-2 and 3,
// whose layers cost different times, so that their cuts may differ.
double leastSecondsInGroups(const StepEstimate &step, const Decisions &decisions);

// Returns the seconds by which a refined step's schedule would be shorter if transfers took no
// time.
double exposedTransferSeconds(const StepEstimate &step, const Decisions &decisions);

// Replaces the closed form of the pipeline's time by the makespan of the schedule itself, of two
// cuts that of the faster.
void refineBySchedule(StepEstimate &step, const Decisions &decisions);

// Returns whether the fullest stage could fit if it held no more than the mean of parameters,
// gradients and states, and of the saved activations of one micro-batch at the most recomputation.
// True if that is not known: heterogeneous devices, programs whose memory is planned.
bool mayFit(const ModelCost &model, const Decisions &decisions, const EstimateRequest &request);

// Returns false only if it is known before costing that no step that fits takes at most `seconds`,
// counting the recomputation that memory requires and the update. True if memory is not known.
bool mayFitWithin(const ModelCost &model, const Decisions &decisions,
                  const EstimateRequest &request, double seconds);

// No more than lowerBoundSeconds of the same decisions with any schedule, order of axes and ZeRO,
// on alike devices and without vocabulary over stages: `work` is workOfModel, so that nothing is
// sent or waited for.
double floorSeconds(const ModelCost &work, const Decisions &decisions,
                    const EstimateRequest &request);

// No step under these decisions can be faster, however its layers are cut into stages, and whatever
// is recomputed: work at the best rate, collectives that nothing hides, and the way down to each
// stage and up again. Memory is ignored.
double lowerBoundSeconds(const ModelCost &model, const Decisions &decisions,
                         const EstimateRequest &request);

} // namespace dtc
