// A plan: how one training step is spread over a cluster, and what that should cost.
#pragma once

#include "compiler/decide/decisions/Decisions.h"
#include "compiler/decide/plan/Architecture.h"
#include "compiler/decide/plan/OpSplits.h"
#include "dialects/graph/GradientType.h"
#include "dialects/graph/Precision.h"
#include "dialects/graph/StateType.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dtc {

// Bytes of one rank, by what they hold.
struct PlanMemory {
  int64_t parameters = 0, gradients = 0, optimizer = 0, activations = 0, temporaries = 0,
          communication = 0;
  int64_t reserved = 0; // used by drivers and libraries
  // Returns the sum.
  int64_t total() const {
    return parameters + gradients + optimizer + activations + temporaries + communication +
           reserved;
  }
};

// One micro-batch through one run of layers, waits included.
struct PlanChunk {
  double forwardSeconds = 0, backwardInputSeconds = 0, backwardWeightSeconds = 0;
  int64_t keptBytes = 0; // activations
};

// One pipeline stage of a plan.
struct PlanStage {
  int64_t firstLayer = 0, lastLayer = 0; // inclusive; of all chunks where there are several
  // Runs of layers [first, last] that the stage holds, one per virtual stage.
  std::vector<std::pair<int64_t, int64_t>> chunks;
  std::vector<int64_t> ranks;
  int64_t peakMemoryBytes = 0;
  double computeSeconds = 0, exposedCommSeconds = 0; // seconds per step
  std::vector<std::string> recompute;                // per layer: toString(Recompute)
  int64_t offloadedLayers = 0; // the first ones: their activations are on the host
  // One micro-batch through all chunks, waits included; backward is split into the gradient of the
  // input and those of weights.
  double forwardSeconds = 0, backwardInputSeconds = 0, backwardWeightSeconds = 0;
  double inFlight = 0;   // micro-batches whose activations are alive at the peak
  int64_t keptBytes = 0; // activations of one micro-batch
  PlanMemory memory;
  std::vector<PlanChunk> chunkTimes; // like `chunks`; empty in plans that do not say
  // After the last micro-batch: gradients' and parameters' collectives that nothing hides, and the
  // update.
  double gradientSeconds = 0, optimizerSeconds = 0;
  int64_t hostBytes = 0; // bytes of host memory per rank
};

// Seconds of a step by cause, for the slowest stage; they add up to the step.
struct PlanTimes {
  double compute = 0, recompute = 0; // recomputation is not part of compute here
  double exposedTensor = 0, exposedContext = 0, exposedExpert = 0, exposedGradients = 0,
         stageTransfers = 0;
  double exposedGathers = 0; // gathers for layers under ZeRO-2 and 3, all micro-batches
  double exposedHost = 0;    // copies of activations to the host and back
  double bubble = 0, optimizer = 0;
};

// The predicted time and memory of a plan.
struct PlanPrediction {
  double stepSeconds = 0, tokensPerSecond = 0, tflopsPerDevice = 0, mfu = 0, bubbleFraction = 0,
         exposedCommSeconds = 0;
  // MFU by half of the products of causal attention; 0 in plans that do not say.
  double mfuCausal = 0;
  int64_t peakMemoryBytes = 0;
  bool fits = true;
  PlanMemory memory;           // memory of the fullest rank
  int64_t hostMemoryBytes = 0; // host memory of the rank that uses most of it
  PlanTimes times;
  // Seconds to send one activation to the next stage, at the slowest boundary.
  double transferSeconds = 0;
  std::vector<double> transfers; // seconds by boundary between stages, if they differ
  double loopSeconds = 0;        // seconds of all micro-batches through all stages
  // Part of loopSeconds in which stages that share the vocabulary compute it and wait for it.
  double vocabularySeconds = 0;
  // The range of seconds of nine in ten similar measured runs; the probability that memory
  // suffices; and the bytes of a device that the plan may use, less the margin. 0 in plans that do
  // not say.
  double stepLowSeconds = 0, stepHighSeconds = 0, fitProbability = 0;
  int64_t usableMemoryBytes = 0;
  // Plans whose seconds differ by a smaller share can't be told apart; which runs all this is from.
  double noise = 0;
  std::string basis;
};

// A published or textbook way to train, as a plan of the same request.
struct KnownRecipe {
  // Example: "ZeRO-3 over all devices (FSDP)", and the --fix that gives it:
  // "tp=1,pp=1,cp=1,zero=3".
  std::string name, pins;
  double stepSeconds = 0;
  int64_t peakMemoryBytes = 0;
  bool fits = true, isChosen = false; // isChosen: the recipe is the plan itself
  std::string losesOn;                // "bubble +1.1 s"; for one that does not fit, what it needs
};

// The cost of a pin of --fix: the best step without it, with all other pins.
struct PinCost {
  std::string key, value;
  double stepWithoutSeconds = 0;
  bool exhaustive = true; // false: a limit ended the search, and the pin may cost more
};

// The event that ended the search: its bound, which makes the plan optimal; its limit of work,
// which is the same on every machine; or its limit of seconds.
enum class SearchEnd { Bound, Work, Seconds };

// Returns "bound", "work" or "seconds".
inline llvm::StringRef toString(SearchEnd end) {
  return end == SearchEnd::Bound ? "bound" : end == SearchEnd::Work ? "work" : "seconds";
}

// A gap is step / bound - 1.
struct PlanSearch {
  double seconds = 0;
  // Bound over all plans, whatever they decide: compiler/price/estimate/Relaxation.h.
  double lowerBoundSeconds = 0, optimalityGap = 0;
  // Bound over all plans of the searched space.
  double searchBoundSeconds = 0, searchGap = 0;
  // The plan with the fewest expected seconds that the search found (kLossOfNotFitting): its step,
  // and these. It is another one where a simpler plan is as fast but for `tieShare` of it;
  // `passedOver` then says what speaks against it (planner/Simplicity.h), and is "" where it is
  // this plan. 0 in plans that do not say.
  double fastestSeconds = 0, fastestExpectedSeconds = 0, tieShare = 0;
  std::string passedOver;
  int64_t candidates = 0;
  SearchEnd end = SearchEnd::Seconds;
  double mostSeconds = 0; // limit of the search's seconds; 0 in plans that do not say
  // Returns true if the bound ended the search.
  bool exhaustive() const { return end == SearchEnd::Bound; }
  // The pins restrict decisions that they don't name, and so the space. This says which pin does.
  // Example: "sp=1 asks for Megatron's placements". Empty where they ask for nothing.
  std::string implied;
  std::vector<PinCost> pins;        // empty where there are none, or nobody asked
  std::vector<KnownRecipe> recipes; // the fastest first; empty where nobody asked
};

// The request that the plan answers, as far as explaining it again needs it.
struct PlanOrigin {
  std::string model, topology; // as given on the command line; empty in plans that do not say
  int64_t nodes = 0;           // number of nodes of the topology; 0: its own
  GradientType gradDtype = GradientType::F32; // one that is offered
  std::string software = "dtc";
  int64_t memoryLimitBytes = 0; // limit per device
  // Reason why 'dtc compile' does not take the plan; "" if it does, or if the plan is for other
  // software.
  std::string whyNotCompiled;
};

// The types in which the software sends gradients between ranks, and adds them up over
// micro-batches.
struct PlanGradients {
  GradientType reducedIn = GradientType::F32, accumulatedIn = GradientType::F32;
};

// Field for field the plan JSON of the interface, schema "dtc.plan/1".
struct Plan {
  std::string modelName;
  std::string modelShape; // see ModelFacts; empty in plans that people write
  int64_t parameters = 0;
  int64_t frozenParameters = 0;   // of these, those that are not trained
  double flopsPerStep = 0;        // model flops: no recomputation counted
  bool modelSlides = false;       // see ModelFacts
  ModelArchitecture architecture; // nothing in plans that do not say
  int64_t sequenceLength = 0;

  std::string topologyName;
  int64_t devices = 1, nodes = 1;
  int64_t idleNodes = 0; // nodes of the topology that the plan does not use
  // If nodes are idle: seconds of the best step on all nodes, 0 if there is none, and the nearest
  // global batches that divide over all nodes.
  double allNodesSeconds = 0;
  std::vector<int64_t> allNodesBatches;

  Decisions decisions;
  int64_t globalBatch = 1; // samples of a step
  Precision precision = Precision::F32;
  OptimizerKind optimizer = OptimizerKind::AdamW;
  std::optional<PlanGradients> gradients;    // nullopt in plans that do not say
  StateType optimizerState = StateType::F32; // the form of the optimizer's state
  // Returns the optimizer and the form of its state.
  Optimizer trainedBy() const { return {optimizer, optimizerState}; }

  std::vector<PlanStage> stages;
  // Parameter -> mesh axis -> "replicate" or "shard(DIM)".
  std::map<std::string, std::map<std::string, std::string>> tensors;
  OpSplits opSplits; // split of ops over tensor parallelism
  PlanPrediction predicted;
  PlanSearch search;
  PlanOrigin origin;
};

} // namespace dtc
