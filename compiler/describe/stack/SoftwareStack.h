// Describes what the software around the kernels does with a plan: what it fuses, overlaps, keeps
// and reserves.
#pragma once

#include "compiler/decide/decisions/LegalSpace.h"
#include "compiler/describe/topology/Topology.h"
#include "compiler/support/Error.h"

#include <vector>

namespace dtc {

// The figures of one software stack, from its file (docs/stacks.md). StackFields.cpp has the
// meaning, the bounds and the key of each member. Units are seconds and bytes.
struct SoftwareStack {
  std::string name, description;
  // The stacks that its file extends, the nearest first. Empty if the file gives everything.
  std::vector<std::string> extends;
  std::string onGpu; // the stack that replaces it on GPUs; "" for itself

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
  bool castsGathered = false, keepsEmbeddingAndHead = false, keepsSent = false;
  // [space]
  LegalSpace space;
};

// dtc itself, the default stack of plans.
constexpr const char *kOwnStack = "dtc";

} // namespace dtc
