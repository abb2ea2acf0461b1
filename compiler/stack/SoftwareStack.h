// What the software around the kernels does with a plan: what it joins, hides, keeps and reserves.
#pragma once

#include "compiler/support/Error.h"
#include "compiler/topology/Topology.h"

#include <vector>

namespace dtc {

// What plans for a stack may ask for. Each set has a bit for each word of its key, in the order of
// spaceSets() (StackFields.h), which is that of the enumerators that the words name.
struct LegalSpace {
  bool tensorParallel = false, pipelineParallel = false, expertParallel = false,
       expertsBesideTensor = false, expertsWantSequence = false, expertsWithinData = false,
       foldedExperts = false, offloadSomeLayers = false, offloadAllLayers = false,
       offloadBesidePipeline = false, unevenStages = false, unevenTensor = false,
       evenRecompute = false, splitsKvHeads = false, unevenHeads = false, unevenInner = false,
       unevenVocabulary = false, slidesInRings = false, contextBesidePipeline = false,
       pipelinesReduceLast = false, halfReductions = false;
  // Returns whether gradients are reduced as a whole after the backward pass, of a pipeline or, without one, of a
  // stage of ZeRO.
  bool reducesLast(bool isPipelined, int64_t stage) const {
    return isPipelined ? pipelinesReduceLast : (zeroThatReducesLast >> stage & 1) != 0;
  }
  uint32_t sequenceParallel = 0, contextKinds = 0, zero = 0, zeroOfPipelines = 0, zeroGroups = 0,
           zeroOfContextsAndExperts = 0, zeroThatReducesLast = 0, offload = 0, schedules = 0,
           fillsStages = 0, vocabOverPp = 0, recompute = 0, recomputeMixes = 0,
           offloadActivations = 0, precisions = 0, optimizers = 0, axisOrders = 0;
};

// The figures of one software stack, as its file says them: docs/stacks.md. The meaning, the bounds
// and the key of each member are in StackFields.cpp. Seconds and bytes.
struct SoftwareStack {
  std::string name, description;
  // The stacks that it says its differences to, the nearest first; empty where it says everything.
  std::vector<std::string> extends;
  std::string onGpu; // the stack that stands for it where devices are GPUs; "": itself

  // [planner]
  bool searchesPlacements = false, choosesBuckets = false, runsPrograms = false;
  // [kernels]
  bool joinsPointwise = false, productEpilogues = false, partsInPlace = false,
       blockedAttention = false, joinsProducts = false, fusesGates = false,
       fusesNormGradients = false;
  double sustained = 0, productShare = 0, attentionShare = 0, groupedShare = 0, expertImbalance = 0;
  // [traffic]
  double memoryTraffic = 0, compositeTraffic = 0, scoreTraffic = 0, lossTraffic = 0,
         castTraffic = 0, dispatchTraffic = 0, accumulateBytes = 0;
  // [host]
  bool replaysGraphs = false;
  double hostSecondsPerLayer = 0, hostSecondsPerExpert = 0;
  // [kept]
  double keptShare = 0, keptShare8 = 0, rmsNormKept = 0, logitBytes = 0;
  bool gathersLogits = false;
  // [recomputation]
  bool selectiveAttention = false, skipsUnread = false, gathersAgain = false;
  double selectiveShare = 0;
  // [overlap]
  double tpHidden = 0, cpHidden = 0, epHidden = 0, dpHidden = 0, gatherHidden = 0, p2pHidden = 0,
         overlapSlowdown = 0;
  // [collectives]
  bool sendsTokensOnce = false, gathersRows = false;
  double gatherShare = 0, reduceBytes = 0;
  // [memory]
  double reservedBytes = 0, communicatorBytes = 0, fragmentation = 0, gradientBytes = 0,
         wholeLayers = 0;
  bool castsGathered = false, keepsEnds = false, keepsSent = false;
  // [space]
  LegalSpace space;
};

// dtc itself: what plans are for unless the request says otherwise.
constexpr const char *kOwnStack = "dtc";

// The names of the catalogue, sorted.
std::vector<std::string> stackNames();

// A stack of the catalogue, or else a stack file. Errors: an unknown name (nearest name), anything
// wrong in the file or in one that it extends (its line and column).
Result<SoftwareStack> loadStack(const std::string &nameOrFile);

// The same, and on GPUs what stands for it there. Example: "dtc" is dtc-gpu.toml on GPUs.
Result<SoftwareStack> loadStackFor(const std::string &nameOrFile, const DeviceKind &device);

// The same as loadStack from TOML text; `path` is what errors name, and what files that it extends
// are relative to.
Result<SoftwareStack> parseStack(llvm::StringRef text, const std::string &path);

// All that a plan's seconds and bytes depend on, as text: equal for stacks that are alike.
std::string fingerprintOf(const SoftwareStack &stack);

} // namespace dtc
