// Compares the choices that an estimate makes with all that it could have made.
#include "test/unit/planner/EstimateCheck.h"

#include "compiler/decide/decisions/AllDecisions.h"
#include "compiler/decide/decisions/Decision.h"
#include "compiler/decide/decisions/Words.h"
#include "compiler/price/cost/OpCost.h"
#include "compiler/search/pipeline/LowerBound.h"
#include "test/unit/planner/PlanEnumerator.h"

#include "gtest/gtest.h"

namespace dtc {
namespace {

// Sums in another order differ by no more.
constexpr double kRounding = 1e-9;

class EstimateChecker {
public:
  EstimateChecker(const ModelCost &model, const Decisions &d, const EstimateRequest &request,
                  const StepEstimate &step)
      : model(model), d(d), step(step), plans(model, d, request),
        hostBytes(0.9 * static_cast<double>(request.topology->device.host.memoryBytes)) {
    for (const StageEstimate &stage : step.stages)
      cut.insert(cut.end(), stage.chunks.begin(), stage.chunks.end());
    llvm::sort(cut);
  }

  void run() {
    checkPipeline();
    checkRecomputation();
    // On heterogeneous devices memory limits the layers of each, too.
    bool isHomogeneous = model.kinds.empty();
    // Stages of several chunks are balanced as a whole.
    bool isBalanced = d.virtualStages > 1 && !d.evenStages && llvm::all_equal(model.cells->chain);
    if (isHomogeneous && (step.isCutByMemory || isBalanced))
      checkCutOfStages();
    else if (isHomogeneous)
      checkCut();
  }

private:
  // The recomputation of a stage's layers: its first ones recompute more than the others, or are on
  // the host.
  struct Mix {
    LayerWay low, high;
    int64_t layers = 0; // layers that do `high`
  };
  // A cut in which every stage has the fastest of all mixes that fit.
  struct Fitted {
    std::vector<Mix> mixes; // one for each stage
    OutlinedPlans::Plan plan;
  };
  Fitted fit(const LayerChunks &of) {
    Fitted fitted;
    LayerWay own{d.recompute, d.layersOnHost == LayersOnHost::All};
    fitted.mixes.assign(static_cast<size_t>(d.pp), {own, own});
    fitted.plan = plans.planOf(of, waysOf(of, fitted.mixes));
    bool isChoice = d.recomputeMost > d.recompute || d.layersOnHost == LayersOnHost::Some;
    if (!isChoice || isHeld(fitted))
      return fitted;
    std::vector<double> least(fitted.mixes.size(), std::numeric_limits<double>::infinity());
    for (auto [index, stage] : llvm::enumerate(fitted.plan.stages))
      if (stage.memory.total() <= stage.memoryLimit)
        least[index] = stage.microBatch();
      else // nothing may fit
        fitted.mixes[index] = {{d.recomputeMost}, {d.recomputeMost}};
    std::vector<bool> isOpen;
    for (double seconds : least)
      isOpen.push_back(std::isinf(seconds));
    auto layers = static_cast<int64_t>(model.cells->chain.size());
    for (auto [low, high] : mixes())
      for (int64_t more = 0; more <= layers; ++more) {
        std::vector<Mix> tried(fitted.mixes.size(), {low, high, more});
        OutlinedPlans::Plan plan = plans.planOf(of, waysOf(of, tried));
        for (auto [index, stage] : llvm::enumerate(plan.stages))
          if (isOpen[index] && stage.memory.total() <= stage.memoryLimit &&
              (stage.offloadedLayers == 0 || stage.hostBytes <= hostBytes) &&
              stage.microBatch() < least[index] * (1 - kRounding)) {
            least[index] = stage.microBatch();
            fitted.mixes[index] = tried[index];
          }
      }
    fitted.plan = plans.planOf(of, waysOf(of, fitted.mixes));
    return fitted;
  }

  // Returns the pairs between the least and the most.
  std::vector<std::pair<LayerWay, LayerWay>> mixes() const {
    std::vector<std::pair<LayerWay, LayerWay>> all{{{d.recompute}, {d.recomputeMost}}};
    std::vector<Recompute> ways = waysToRecompute(model);
    std::vector<Recompute> ofAll{d.recompute}; // ways that all layers of a stage may have
    for (auto [low, high] : model.cells->recomputeMixes)
      if (isPartOf(d.recompute, low) && isPartOf(high, d.recomputeMost) &&
          llvm::is_contained(ways, low) && llvm::is_contained(ways, high)) {
        all.push_back({{low}, {high}});
        ofAll.insert(ofAll.end(), {low, high});
      }
    llvm::sort(ofAll);
    ofAll.erase(std::unique(ofAll.begin(), ofAll.end()), ofAll.end());
    for (Recompute how : ofAll)
      if (d.layersOnHost == LayersOnHost::Some &&
          model.cells->hostRecomputes[static_cast<size_t>(how)])
        all.push_back({{how}, {how, /*isOnHost=*/true}});
    return all;
  }

  std::vector<LayerWay> waysOf(const LayerChunks &of, std::vector<Mix> mixes) const {
    std::vector<LayerWay> ways;
    for (auto [chunk, run] : llvm::enumerate(of)) {
      auto number = static_cast<int>(chunk), stages = static_cast<int>(d.pp);
      bool isUp =
          d.virtualStages == 2 && d.schedule != ScheduleKind::Interleaved && number >= stages;
      Mix &mix = mixes[static_cast<size_t>(isUp ? 2 * stages - 1 - number : number % stages)];
      for (int64_t layer = run.first; layer <= run.second; ++layer)
        ways.push_back(mix.layers-- > 0 ? mix.high : mix.low);
    }
    return ways;
  }

  void checkPipeline() {
    double seconds = plans.loopSeconds(step.stages);
    EXPECT_NEAR(step.loopSeconds, seconds, kRounding * seconds) << textOf(d);
    EXPECT_LE(makespanLowerBound(plans.pipelineOf(step.stages)), seconds * (1 + kRounding))
        << textOf(d);
  }

  void checkRecomputation() {
    Fitted fitted = fit(cut);
    for (auto [index, stage] : llvm::enumerate(step.stages)) {
      const StageEstimate &own = fitted.plan.stages[index];
      for (Recompute how : kRecomputes)
        EXPECT_EQ(stage.layersThat(how), own.layersThat(how))
            << toString(how).str() << " on stage " << index << " of " << textOf(d);
      EXPECT_EQ(stage.offloadedLayers, own.offloadedLayers)
          << "on stage " << index << " of " << textOf(d);
      EXPECT_NEAR(stage.hostBytes, own.hostBytes, kRounding * own.hostBytes) << textOf(d);
      EXPECT_NEAR(stage.microBatch(), own.microBatch(), kRounding * own.microBatch());
      EXPECT_NEAR(stage.memory.total(), own.memory.total(), kRounding * own.memory.total());
    }
    EXPECT_EQ(step.fits, fitted.plan.fits) << textOf(d);
    bool isPressed = llvm::any_of(fitted.mixes, [&](const Mix &mix) {
      return mix.layers > 0 || mix.low.recompute != d.recompute;
    });
    // Takes the best of all buckets. More recomputation hides no more of them in an estimate.
    double once = plans.secondsOnce(cut, waysOf(cut, fitted.mixes));
    if (!isPressed)
      EXPECT_NEAR(step.exposedGradientSeconds + step.optimizerSeconds, once, kRounding * once)
          << textOf(d);
    bool isFree = d.pp > 1 && model.kinds.empty() &&
                  (d.virtualStages == 1 || llvm::all_equal(model.cells->chain));
    EXPECT_FALSE(isPressed && isFree && !step.isCutByMemory) << textOf(d);
  }

  // Checks that the slowest chunk is as fast as possible, with each layer at its least
  // recomputation.
  void checkCut() {
    auto slowestOf = [&](const LayerChunks &of) {
      std::vector<LayerWay> least(model.cells->chain.size(),
                                  {d.recompute, d.layersOnHost == LayersOnHost::All});
      double slowest = 0;
      for (const StageEstimate &stage : plans.planOf(of, least).stages)
        for (const ChunkTimes &chunk : stage.chunkTimes)
          slowest = std::max(slowest, chunk.forward + chunk.backwardInput + chunk.backwardWeight);
      return slowest;
    };
    double own = slowestOf(cut);
    for (const LayerChunks &other : cuts())
      EXPECT_LE(own, slowestOf(other) * (1 + kRounding)) << textOf(d);
  }

  // Checks that the slowest stage is as fast as possible including the necessary recomputation, or
  // that the cut is the usual one and the whole step is no slower.
  void checkCutOfStages() {
    Fitted own = fit(cut);
    double least = std::numeric_limits<double>::infinity(), seconds = 0;
    for (const LayerChunks &other : cuts())
      if (Fitted fitted = fit(other); isHeld(fitted)) {
        EXPECT_TRUE(isHeld(own)) << textOf(d);
        if (fitted.plan.slowest > least * (1 + kRounding))
          continue;
        bool isTie = fitted.plan.slowest >= least * (1 - kRounding);
        seconds = isTie ? std::max(seconds, secondsOf(other, fitted)) : secondsOf(other, fitted);
        least = std::min(least, fitted.plan.slowest);
      }
    if (own.plan.slowest <= least * (1 + kRounding))
      return;
    checkCut();
    EXPECT_LE(secondsOf(cut, own), seconds * (1 + kRounding)) << textOf(d);
  }

  double secondsOf(const LayerChunks &of, const Fitted &fitted) {
    return plans.loopSeconds(fitted.plan.stages) + plans.secondsOnce(of, waysOf(of, fitted.mixes));
  }

  // Returns true if the devices have enough memory; that of the hosts is checked elsewhere.
  static bool isHeld(const Fitted &fitted) {
    return llvm::all_of(fitted.plan.stages, [](const StageEstimate &stage) {
      return stage.memory.total() <= stage.memoryLimit;
    });
  }

  std::vector<LayerChunks> cuts() const {
    return everyCut(static_cast<int64_t>(model.cells->chain.size()), d.pp * d.virtualStages);
  }

  const ModelCost &model;
  const Decisions &d;
  const StepEstimate &step;
  OutlinedPlans plans;
  double hostBytes; // memory of a device's host that training may use
  LayerChunks cut;
};

} // namespace

void checkEstimate(const ModelCost &model, const Decisions &decisions,
                   const EstimateRequest &request, const StepEstimate &step) {
  EstimateChecker(model, decisions, request, step).run();
}

std::string textOf(const Decisions &decisions) {
  std::string text;
  for (const Decision *each : dtc::decisions())
    text += each->key.str() + "=" + each->valueOf(decisions) + " ";
  return text;
}

} // namespace dtc
