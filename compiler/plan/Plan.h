// A plan: how one training step is spread over a cluster, and what that should cost.
#pragma once

#include "compiler/plan/Architecture.h"
#include "compiler/plan/Decisions.h"
#include "compiler/plan/OpSplits.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace dtc {

// Bytes of one rank, by what they hold.
struct PlanMemory {
  int64_t parameters = 0, gradients = 0, optimizer = 0, activations = 0, temporaries = 0,
          communication = 0;
  int64_t reserved = 0; // by drivers and libraries
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

struct PlanStage {
  int64_t firstLayer = 0, lastLayer = 0; // inclusive; of all chunks where there are several
  // Runs of layers [first, last] that the stage holds, one per virtual stage.
  std::vector<std::pair<int64_t, int64_t>> chunks;
  std::vector<int64_t> ranks;
  int64_t peakMemoryBytes = 0;
  double computeSeconds = 0, exposedCommSeconds = 0; // of a whole step
  std::vector<std::string> recompute;                // per layer: toString(Recompute)
  int64_t layersOnHost = 0; // the first ones, with what they keep until their backward pass
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
  int64_t hostBytes = 0; // of the host's memory, for each rank
};

// Where the seconds of a step go, for the slowest stage; they add up to the step.
struct PlanTimes {
  double compute = 0, recompute = 0; // recomputation is not part of compute here
  double exposedTensor = 0, exposedContext = 0, exposedExpert = 0, exposedGradients = 0,
         stageTransfers = 0;
  double exposedGathers = 0; // of layers under ZeRO-2 and 3, every micro-batch
  double exposedHost = 0;    // copies of activations to the host and back
  double bubble = 0, optimizer = 0;
};

struct PlanPrediction {
  double stepSeconds = 0, tokensPerSecond = 0, tflopsPerDevice = 0, mfu = 0, bubbleFraction = 0,
         exposedCommSeconds = 0;
  // MFU by half of the products of causal attention; 0 in plans that do not say.
  double mfuCausal = 0;
  int64_t peakMemoryBytes = 0;
  bool fits = true;
  PlanMemory memory;           // of the fullest rank
  int64_t hostMemoryBytes = 0; // of the host's memory, for the rank that needs most of it
  PlanTimes times;
  double transferSeconds = 0; // of one activation from a stage to the next, where it takes longest
  std::vector<double> transfers; // by boundary between stages, where they differ
  double loopSeconds = 0;        // of the step, all micro-batches through all stages
  // Of these, what stages that share out the vocabulary compute of it, and wait for.
  double vocabularySeconds = 0;
  // What runs like it were measured to take, in nine of ten; that its memory is enough; bytes of a
  // device that it may use, what is left free taken off. 0 in plans that do not say.
  double stepLowSeconds = 0, stepHighSeconds = 0, fitProbability = 0;
  int64_t usableMemoryBytes = 0;
  // Plans whose seconds differ by a smaller share can't be told apart; which runs all this is from.
  double noise = 0;
  std::string basis;
};

// A way to train that software's makers publish or textbooks teach, as a plan of the same request.
struct KnownRecipe {
  std::string name,
      pins; // "ZeRO-3 over all devices (FSDP)"; the --fix that gives it: "tp=1,pp=1,cp=1,zero=3"
  double stepSeconds = 0;
  int64_t peakMemoryBytes = 0;
  bool fits = true, isChosen = false; // isChosen: it is the plan itself
  std::string losesOn;                // "bubble +1.1 s"; of one that does not fit, what it needs
};

// What a pin of --fix costs: the best step without it, the others kept.
struct PinCost {
  std::string key, value;
  double stepWithoutSeconds = 0;
  bool exhaustive = true; // false: a limit ended the search, and the pin may cost more
};

// What ended the search of a plan: its bound, which makes it a proof; its limit of work, which is the
// same on every machine; or its limit of seconds.
enum class SearchEnd { Bound, Work, Seconds };

// Returns "bound", "work" or "seconds".
inline llvm::StringRef toString(SearchEnd end) {
  return end == SearchEnd::Bound ? "bound" : end == SearchEnd::Work ? "work" : "seconds";
}

// A gap is step / bound - 1.
struct PlanSearch {
  double seconds = 0;
  // Of any plan at all, whatever it decides: compiler/estimate/Relaxation.h.
  double lowerBoundSeconds = 0, optimalityGap = 0;
  // Of all plans of the space that is searched.
  double searchBoundSeconds = 0, searchGap = 0;
  // The plan with the fewest expected seconds that the search found (kLossOfNotFitting): its step,
  // and these. It is another one where a simpler plan is as fast but for `tieShare` of it;
  // `passedOver` then says what speaks against it (planner/Simplicity.h), and is "" where it is
  // this plan. 0 in plans that do not say.
  double fastestSeconds = 0, fastestExpectedSeconds = 0, tieShare = 0;
  std::string passedOver;
  int64_t candidates = 0;
  SearchEnd end = SearchEnd::Seconds;
  double mostSeconds = 0; // that the search may have taken; 0 in plans that do not say
  bool exhaustive() const { return end == SearchEnd::Bound; }
  std::vector<PinCost> pins;        // empty where there are none, or nobody asked
  std::vector<KnownRecipe> recipes; // the fastest first; empty where nobody asked
};

// What the plan was asked for, as far as explaining it again needs it.
struct PlanOrigin {
  std::string model, topology; // as on the command line; empty in plans that do not say
  int64_t nodes = 0;           // of the topology; 0: as it comes
  std::string gradDtype = "f32", software = "dtc";
  int64_t memoryLimitBytes = 0; // of a device
  // Why 'dtc compile' does not take the plan; "" where it does, or where the plan is for other
  // software.
  std::string whyNotCompiled;
};

// Field for field the plan JSON of the interface, schema "dtc.plan/1".
struct Plan {
  std::string modelName;
  std::string modelShape; // of ModelFacts; empty in plans that people write
  int64_t parameters = 0;
  double flopsPerStep = 0;        // model flops: no recomputation counted
  bool modelSlides = false;       // of ModelFacts
  ModelArchitecture architecture; // nothing in plans that do not say
  int64_t sequenceLength = 0;

  std::string topologyName;
  int64_t devices = 1, nodes = 1;
  int64_t idleNodes = 0; // of the topology, beside these
  // Where nodes are idle: seconds of the best step on all of them, 0 where there is none, and the
  // nearest global batches that would divide over all as this one does here.
  double allNodesSeconds = 0;
  std::vector<int64_t> allNodesBatches;

  Decisions decisions;
  int64_t globalBatch = 1; // samples of a step
  std::string precision = "f32", optimizer = "adamw";
  // The types in which the software sends gradients between ranks, and adds them up over
  // micro-batches; empty in plans that do not say.
  std::string reducedIn, accumulatedIn;

  std::vector<PlanStage> stages;
  // Parameter -> mesh axis -> "replicate" or "shard(DIM)".
  std::map<std::string, std::map<std::string, std::string>> tensors;
  OpSplits opSplits; // of ops over tensor parallelism
  PlanPrediction predicted;
  PlanSearch search;
  PlanOrigin origin;
};

// One JSON object, keys in the interface's order, two spaces of indentation.
std::string planToJson(const Plan &plan);

// Reads what planToJson wrote (or a person edited). An error points into `path` and names the key, the
// value found and the value wanted.
Outcome planFromJson(const std::string &text, const std::string &path, Plan &plan);

} // namespace dtc
