// Time and memory of one training step under a complete set of decisions.
#pragma once

#include "compiler/estimate/CellCost.h"
#include "compiler/estimate/StagePlaces.h"
#include "compiler/estimate/StageSplit.h"
#include "compiler/memory/MemoryParts.h"
#include "compiler/pipeline/Schedule.h"
#include "compiler/plan/Decisions.h"

#include <limits>

namespace dtc {

class ProgramMemory;
class SharedEstimates;
struct SearchedPlacements;

// Ranks of each axis under an order of axes.
AxisGroups groupsOf(const Decisions &decisions);

// Costs of the parts of a model under (tp, sp, cp, ep, micro-batch); shared by all decisions that
// agree in these and in the groups.
struct ModelCost {
  const ModelCells *cells = nullptr;
  const SearchedPlacements *placements = nullptr; // null: the partitioner's own
  BlockCost embedding, head;
  std::vector<BlockCost> blocks;
  double tiedParameters = 0;
  double allDense = 0, allExpert = 0; // parameters of a rank if it had all layers
  AxisGroups groups;
  // Where stages are on unlike devices: the same on each of `places.kinds`.
  StagePlaces places;
  std::vector<ModelCost> kinds;
  // Of one activation from a stage to the next, where that takes longest; and by boundary, where
  // they differ.
  double transferSeconds = 0;
  std::vector<double> transfers;
};
ModelCost costModel(const ModelCells &cells, const Decisions &decisions, const Topology &topology,
                    const CellPrecision &precision, const SoftwareStack &software);

// One stage of the pipeline, all its chunks together; seconds of one micro-batch.
struct StageEstimate {
  std::vector<std::pair<int64_t, int64_t>> chunks;           // layers [first, last] of each
  std::vector<ChunkTimes> chunkTimes;                        // of each, bytes kept included
  double forward = 0, backwardInput = 0, backwardWeight = 0; // recomputation, waits included
  double computeSeconds = 0;                                 // of these, kernels
  double exposedSeconds = 0;   // of these, collectives inside the layers that nothing hides
  double recomputeSeconds = 0; // of these, recomputation
  int64_t fullLayers = 0, selectiveLayers = 0; // that recompute
  // The ways in which gradients may travel, while they are compared.
  struct Exchange {
    double seconds, exposedSeconds;
  };
  std::vector<Exchange> exchanges;
  double gradientSeconds = 0; // collectives of gradients and parameters, once a step
  double exposedGradientSeconds = 0;
  double optimizerSeconds = 0;
  double hostOptimizerSeconds = 0; // that it takes with its states in the host's memory
  double hostBytes = 0;            // of the host's memory for one device
  // Of a micro-batch, if the memory of the optimizer's states were free for less recomputation;
  // infinite where the stage does not fit even then.
  double microBatchWithoutStates = std::numeric_limits<double>::infinity();
  double memoryLimit = 0;       // bytes of one of its devices
  double inFlight = 0;          // micro-batches whose activations are alive at the peak
  double keptPerMicroBatch = 0; // bytes
  MemoryParts memory;
  double microBatch() const { return forward + backwardInput + backwardWeight; }
};

struct StepEstimate {
  double stepSeconds = 0;
  double bubbleSeconds = 0;    // idle time of the mean stage
  double computeSeconds = 0;   // kernels of the slowest stage, recomputation included
  double recomputeSeconds = 0; // of these
  double exposedTpSeconds = 0, exposedCpSeconds = 0, exposedEpSeconds = 0;
  double exposedGradientSeconds = 0, p2pSeconds = 0, optimizerSeconds = 0, hostSeconds = 0;
  // What ZeRO-2 and 3 move for each layer and micro-batch: parameters gathered, gradients
  // scattered.
  double exposedGatherSeconds = 0;
  int64_t bucketBytes = 0;    // in which gradients travel; 0: as the software stack has them
  double transferSeconds = 0; // of one activation from a stage to the next, where it takes longest
  std::vector<double> transfers; // by boundary between stages, where these differ
  double loopSeconds = 0;        // all micro-batches through all stages
  std::vector<StageEstimate> stages;
  double peakBytes = 0; // of the fullest stage
  size_t fullestStage = 0, slowestStage = 0;
  bool fits = true;
  // No step of the same decisions with the optimizer on the host is faster; infinite where none
  // fits, or where nothing would be gained: stages are as they are, and the update is slower.
  double leastWithHostSeconds = 0;
  double leastLoopSeconds = 0; // that loopSeconds can be when it is refined
  bool isRefined = false;      // loopSeconds is that of the schedule itself

  // The step can't be faster than this when it is refined.
  double leastSeconds() const { return stepSeconds - loopSeconds + leastLoopSeconds; }
  double exposedCommSeconds() const {
    return exposedTpSeconds + exposedCpSeconds + exposedEpSeconds + exposedGatherSeconds +
           exposedGradientSeconds + p2pSeconds;
  }
};

struct EstimateRequest {
  const Topology *topology = nullptr;
  const SoftwareStack *software = nullptr;
  CellPrecision precision;
  double memoryLimit = 0; // bytes of a device
  // Of buckets in which gradients travel: the planner takes the best. Empty: as the stack does it.
  std::vector<int64_t> bucketSizes{};
  // The limit is what the weakest device has: where devices differ, each has its own.
  bool isLimitOfDevice = false;
  // Where given, what dtc compiles needs what its program does.
  ProgramMemory *programs = nullptr;
  // Where given, what decisions have in common is computed once.
  SharedEstimates *shared = nullptr;
};

// Cuts the chain of layers into pp x virtualStages chunks so that the slowest stage is as fast as
// possible, chooses recomputation per stage, and adds up. The pipeline's time is that of the
// schedule's closed form with unequal stages, or its lower bound where that is more;
// refineBySchedule makes it exact. Wants layers >= pp x virtualStages.
StepEstimate estimateStep(const ModelCost &model, const Decisions &decisions,
                          const EstimateRequest &request);

// The pipeline of a step for the scheduler and the simulator; no memory cap.
PipelineProblem pipelineOf(const StepEstimate &step, const Decisions &decisions);

// How much sooner the schedule of a refined step would end if stages sent for nothing.
double exposedTransferSeconds(const StepEstimate &step, const Decisions &decisions);

// Replaces the closed form of the pipeline's time by the makespan of the schedule itself.
void refineBySchedule(StepEstimate &step, const Decisions &decisions);

// Whether the fullest stage could fit if it held no activations and no more than the mean of
// parameters, gradients and states. True where that is not known: unlike devices, programs whose
// memory is planned.
bool mayFit(const ModelCost &model, const Decisions &decisions, const EstimateRequest &request);

// No step under these decisions can be faster, however its layers are cut into stages, and whatever
// is recomputed: work at the best rate, collectives that nothing hides, and the way down to each
// stage and up again. Memory is ignored.
double lowerBoundSeconds(const ModelCost &model, const Decisions &decisions,
                         const EstimateRequest &request);

} // namespace dtc
