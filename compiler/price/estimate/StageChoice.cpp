// Chooses the stages of one set of decisions.
#include "compiler/price/estimate/StageChoice.h"

#include "compiler/price/estimate/KeepLess.h"
#include "compiler/price/estimate/OncePerStep.h"
#include "compiler/price/estimate/StageCoster.h"
#include "compiler/price/estimate/StageCuts.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <optional>

namespace dtc {
namespace {

// The stages of a cut whose layers recompute and offload what they have to.
struct FittedStages {
  CostedStages costed;
  bool isShortOfMemory = false; // some stage does not fit as it is
};

// Makes the stages of cuts fit.
class StageFitter {
public:
  explicit StageFitter(const StageInputs &in) : in(in) {}

  // Costs a cut with the least that layers recompute and offload.
  CostedStages plain(const LayerChunks &chunks) const {
    return costStages(in, chunks,
                      std::vector<LayerWay>(in.model.cells->chain.size(), in.leastWay()));
  }

  // Makes layers save less until the stages fit, if they may.
  FittedStages fit(CostedStages plain) {
    FittedStages fitted{std::move(plain)};
    std::vector<StageEstimate> &stages = fitted.costed.stages;
    if (in.request.ignoresMemory)
      return fitted;
    auto isOver = [](const StageEstimate &stage) {
      return stage.memory.total() > stage.memoryLimit;
    };
    bool isAnyOver = llvm::any_of(stages, isOver);
    if (!in.d.mayKeepLess() || in.recomputesEvenly()) {
      fitted.isShortOfMemory = in.request.cutsToFit && isAnyOver;
      if (in.d.mayKeepLess())
        recomputeEvenly(in, stages);
      return fitted;
    }
    if (!isAnyOver)
      return fitted;
    for (auto [index, stage] : llvm::enumerate(stages))
      if (keepLessUntilItFits(in, mixes(), in.kindOf(index), stage))
        fitted.isShortOfMemory = true;
    return fitted;
  }

  // Returns the mixes of the layers' ways, which take long to find and are seldom needed.
  const LayerMixes &mixes() {
    if (!known)
      known.emplace(in);
    return *known;
  }

private:
  const StageInputs &in;
  std::optional<LayerMixes> known;
};

} // namespace

ChosenStages chooseStages(const StageInputs &in, bool mayMove) {
  StageFitter fitter(in);
  CostedStages plain = fitter.plain(usualCut(in));
  ChosenStages chosen;
  if (in.isUniform())
    chosen.leastSlowestSeconds = slowestOfAnyCut(in, plain.stages);
  FittedStages fitted = fitter.fit(std::move(plain));
  // Another cut may fit without more recomputation, or with fewer layers that recompute.
  bool isShort = fitted.isShortOfMemory && in.mayCutByMemory();
  if (mayMove && (isShort || mayBalance(in, fitted.costed.stages, chosen.leastSlowestSeconds)))
    if (LayerChunks other = cutByStages(in, fitter.mixes(), fitted.costed.stages); !other.empty()) {
      fitted = fitter.fit(fitter.plain(other));
      isShort |= fitted.isShortOfMemory && in.mayCutByMemory();
      chosen.isMoved = true;
    }
  chosen.stages = std::move(fitted.costed.stages);
  chosen.exposed = std::move(fitted.costed.exposed);
  // With several chunks a stage, another cut than the usual one may have the fastest slowest stage.
  if (isShort && (chosen.isMoved || in.d.virtualStages == 1) && !in.recomputesEvenly())
    for (const StageEstimate &stage : chosen.stages)
      chosen.leastSlowestThatFits = std::max(chosen.leastSlowestThatFits, stage.microBatch());
  chosen.isCutByMemory = isShort || (!in.isUniform() && !in.d.evenStages);
  chosen.bucketBytes = chooseBuckets(in, chosen.stages);
  return chosen;
}

} // namespace dtc
