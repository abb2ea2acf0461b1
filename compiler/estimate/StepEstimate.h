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

struct StepEstimate {
  double stepSeconds = 0;
  double bubbleSeconds = 0;    // idle time of the mean stage
  double computeSeconds = 0;   // kernels of the slowest stage, recomputation included
  double recomputeSeconds = 0; // of these
  double exposedTpSeconds = 0, exposedCpSeconds = 0, exposedEpSeconds = 0;
  double exposedGradientSeconds = 0, p2pSeconds = 0, optimizerSeconds = 0;
  // What ZeRO-2 and 3 move for each layer and micro-batch: parameters gathered, gradients
  // scattered.
  double exposedGatherSeconds = 0;
  double exposedHostSeconds = 0; // copies of what layers keep on the host
  int64_t bucketBytes = 0;       // in which gradients travel, or kStackBuckets
  double transferSeconds = 0; // of one activation from a stage to the next, where it takes longest
  std::vector<double> transfers; // by boundary between stages, where these differ
  double loopSeconds = 0;        // all micro-batches through all stages
  double vocabularySeconds = 0;  // of these, StageCoster::vocabularySeconds
  std::vector<StageEstimate> stages;
  double peakBytes = 0; // of the fullest stage
  size_t fullestStage = 0, slowestStage = 0;
  bool fits = true;
  // What is needed over what there is, of the memory that is short first: of devices, or of hosts,
  // for the device that needs most of its host. It fits up to 1.
  double memoryNeed = 0;
  bool hostIsShort = false;
  double hostBytes = 0, hostLimitBytes = 0; // of a device's share of its host, where that is short
  // No step of the same decisions with the optimizer on the host is faster; infinite where none
  // fits, or where nothing would be gained: stages are as they are, and the update is slower.
  double leastWithHostSeconds = 0;
  double leastLoopSeconds = 0; // that loopSeconds can be when it is refined
  bool isRefined = false;      // loopSeconds is that of the schedule itself
  // Memory has a say in the cut: some stage of the usual one has to recompute more.
  bool isCutByMemory = false;
  bool isMoved = false; // and the cut is another one for it

  // Of a micro-batch: no stage of any cut that there may be is the slowest with fewer seconds; 0 on unlike devices.
  double leastSlowestSeconds = 0;
  // The same of cuts in which all stages fit, with what their layers do for that; 0 on unlike devices, and where memory
  // has no say in the cut.
  double leastSlowestThatFits = 0;
  // The same step in its other cut, where only their schedules tell which is faster; refining takes that one.
  std::shared_ptr<const StepEstimate> otherCut;

  // The step can't be faster than this when it is refined.
  double leastSeconds() const {
    double own = stepSeconds - loopSeconds + leastLoopSeconds;
    return otherCut ? std::min(own, otherCut->leastSeconds()) : own;
  }
  double exposedCommSeconds() const {
    return exposedTpSeconds + exposedCpSeconds + exposedEpSeconds + exposedGatherSeconds +
           exposedHostSeconds + exposedGradientSeconds + p2pSeconds;
  }
};

struct EstimateRequest {
  const Topology *topology = nullptr;
  const SoftwareStack *software =
      nullptr; // for who makes cells: estimates know what it made of them
  CellPrecision precision;
  double memoryLimit = 0; // bytes of a device that a plan may use
  // Of buckets in which gradients travel: the planner takes the best.
  std::vector<int64_t> bucketSizes{kStackBuckets};
  // The same of pipelines alone, where these are told apart.
  std::vector<int64_t> bucketSizesOfPipelines{};
  // Without a pipeline gradients of these stages of ZeRO, a bit each, travel as one bucket.
  std::bitset<4> zeroThatReducesLast{};
  const std::vector<int64_t> &bucketSizesOf(const Decisions &d) const {
    static const std::vector<int64_t> one{kOneBucket};
    return d.pp == 1 && zeroThatReducesLast[static_cast<size_t>(d.zero)] ? one
           : d.pp > 1 && !bucketSizesOfPipelines.empty()                 ? bucketSizesOfPipelines
                                                                         : bucketSizes;
  }
  // The limit is what the weakest device has: where devices differ, each has its own.
  bool isLimitOfDevice = false;
  double usableShare = 1; // of what a device has, in memoryLimit
  // Nothing is decided for the sake of memory: no layer recomputes or leaves the device so that its
  // stage fits, and no cut is moved. The limit only says whether a step fits.
  bool ignoresMemory = false;
  // Stages whose layers have no choice, or all the same one, are cut so that they fit. False for runs that people have
  // planned.
  bool cutsToFit = true;
  // Where given, what dtc compiles needs what its program does.
  ProgramMemory *programs = nullptr;
  // Where given, what decisions have in common is computed once.
  SharedEstimates *shared = nullptr;
};

// Cuts the chain of layers into pp x virtualStages chunks so that the slowest stage is as fast as
// possible, chooses recomputation per stage, and adds up. Where stages have to recompute more to fit,
// what they recompute counts in the cut; where their layers have no choice, a cut in which all
// stages fit is taken if there is one. The pipeline's time is that of the
// schedule's closed form with unequal stages, or its lower bound where that is more;
// refineBySchedule makes it exact. Wants layers >= pp x virtualStages.
// The decisions, with gradients in buckets of what the estimate chose: kOneBucket is no overlap.
Decisions withBuckets(const Decisions &decisions, int64_t bucketBytes);

StepEstimate estimateStep(const ModelCost &model, const Decisions &decisions,
                          const EstimateRequest &request);

// The pipeline of a step for the scheduler and the simulator; no memory cap, and of the vocabulary
// that stages share out nothing.
PipelineProblem pipelineOf(const StepEstimate &step, const Decisions &decisions);

// No step of the same decisions with ZeRO within groups of ranks is faster, on alike devices: it needs more memory,
// and saves no more than collectives between ranks of dp. Infinite where it can't fit; 0 where nothing is known, as
// of pipelines under ZeRO-2 and 3, which cost layers otherwise and so may be cut otherwise.
double leastSecondsInGroups(const StepEstimate &step, const Decisions &decisions);

// How much sooner the schedule of a refined step would end if stages sent for nothing.
double exposedTransferSeconds(const StepEstimate &step, const Decisions &decisions);

// Replaces the closed form of the pipeline's time by the makespan of the schedule itself, of two cuts that of the faster.
void refineBySchedule(StepEstimate &step, const Decisions &decisions);

// Returns whether the fullest stage could fit if it held no more than the mean of parameters, gradients and states, and of
// what layers that recompute the most keep of one micro-batch. True where that is not known: unlike devices, programs
// whose memory is planned.
bool mayFit(const ModelCost &model, const Decisions &decisions, const EstimateRequest &request);

// Whether a step that fits may take no more than `seconds`, for all that is known before it is costed: with the
// recomputation that memory asks for, and the update. True where memory is not known.
bool mayFitWithin(const ModelCost &model, const Decisions &decisions,
                  const EstimateRequest &request, double seconds);

// No more than lowerBoundSeconds of the same decisions with any schedule, order of axes and ZeRO, on alike devices
// and without vocabulary over stages: `work` is workOfModel, so that nothing is sent or waited for.
double floorSeconds(const ModelCost &work, const Decisions &decisions,
                    const EstimateRequest &request);

// No step under these decisions can be faster, however its layers are cut into stages, and whatever
// is recomputed: work at the best rate, collectives that nothing hides, and the way down to each
// stage and up again. Memory is ignored.
double lowerBoundSeconds(const ModelCost &model, const Decisions &decisions,
                         const EstimateRequest &request);

} // namespace dtc
