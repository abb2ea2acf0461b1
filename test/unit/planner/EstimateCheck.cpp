// What an estimate decides by itself, against all that it could have decided.
#include "test/unit/planner/EstimateCheck.h"

#include "compiler/plan/DecisionNames.h"
#include "test/unit/planner/PlanEnumerator.h"

#include "gtest/gtest.h"

namespace dtc {
namespace {

// Sums in another order differ by as much.
constexpr double kRounding = 1e-9;

class EstimateChecker {
public:
  EstimateChecker(const ModelCost &model, const Decisions &d, const EstimateRequest &request,
                  const StepEstimate &step)
      : model(model), d(d), step(step), plans(model, d, request) {
    for (const StageEstimate &stage : step.stages)
      cut.insert(cut.end(), stage.chunks.begin(), stage.chunks.end());
    llvm::sort(cut);
  }

  void run() {
    checkPipeline();
    checkRecomputation();
    bool isAlike = model.kinds.empty(); // of unlike devices memory limits the layers of each, too
    if (isAlike && step.isCutByMemory)
      checkCutByMemory();
    else if (isAlike)
      checkCut();
  }

private:
  // A cut with as few layers of each stage, its first ones, recomputing more as let it fit.
  struct Fitted {
    std::vector<int64_t> more; // layers of each stage
    OutlinedPlans::Plan plan;
  };
  Fitted fit(const LayerChunks &of) {
    Fitted fitted;
    fitted.more.assign(static_cast<size_t>(d.pp), 0);
    for (bool goesOn = true; goesOn;) {
      goesOn = false;
      fitted.plan = plans.planOf(of, recomputation(of, fitted.more));
      for (auto [index, stage] : llvm::enumerate(fitted.plan.stages)) {
        int64_t layers = 0;
        for (auto [first, last] : stage.chunks)
          layers += last - first + 1;
        if (!d.mayRecomputeMore() || stage.memory.total() <= stage.memoryLimit ||
            fitted.more[index] == layers)
          continue;
        ++fitted.more[index];
        goesOn = true;
      }
    }
    return fitted;
  }

  std::vector<Recompute> recomputation(const LayerChunks &of, std::vector<int64_t> more) const {
    std::vector<Recompute> recompute;
    for (auto [chunk, run] : llvm::enumerate(of)) {
      auto number = static_cast<int>(chunk), stages = static_cast<int>(d.pp);
      bool isUp =
          d.virtualStages == 2 && d.schedule != ScheduleKind::Interleaved && number >= stages;
      int64_t &left = more[static_cast<size_t>(isUp ? 2 * stages - 1 - number : number % stages)];
      for (int64_t layer = run.first; layer <= run.second; ++layer)
        recompute.push_back(left-- > 0 ? d.recomputeMost : d.recompute);
    }
    return recompute;
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
      EXPECT_EQ(stage.fullLayers, own.fullLayers) << "stage " << index << " of " << textOf(d);
      EXPECT_EQ(stage.selectiveLayers, own.selectiveLayers)
          << "stage " << index << " of " << textOf(d);
      EXPECT_NEAR(stage.microBatch(), own.microBatch(), kRounding * own.microBatch());
      EXPECT_NEAR(stage.memory.total(), own.memory.total(), kRounding * own.memory.total());
    }
    EXPECT_EQ(step.fits, fitted.plan.fits) << textOf(d);
    bool isPressed = llvm::any_of(fitted.more, [](int64_t more) { return more > 0; });
    // The best of all buckets. What layers recompute more hides nothing in an estimate.
    double once = plans.secondsOnce(cut, recomputation(cut, fitted.more));
    if (!isPressed)
      EXPECT_NEAR(step.exposedGradientSeconds + step.optimizerSeconds, once, kRounding * once)
          << textOf(d);
    bool isFree = d.pp > 1 && d.virtualStages == 1 && model.kinds.empty();
    EXPECT_FALSE(isPressed && isFree && !step.isCutByMemory) << textOf(d);
  }

  // The slowest chunk is as fast as can be, each layer recomputing the least.
  void checkCut() {
    auto slowestOf = [&](const LayerChunks &of) {
      std::vector<Recompute> least(model.cells->chain.size(), d.recompute);
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

  // The slowest stage is as fast as can be, with what has to be recomputed; or the cut is the usual one, and the
  // whole step no slower.
  void checkCutByMemory() {
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
    return plans.loopSeconds(fitted.plan.stages) +
           plans.secondsOnce(of, recomputation(of, fitted.more));
  }

  // By the devices: what hosts hold is another matter.
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
  LayerChunks cut;
};

} // namespace

void checkEstimate(const ModelCost &model, const Decisions &decisions,
                   const EstimateRequest &request, const StepEstimate &step) {
  EstimateChecker(model, decisions, request, step).run();
}

std::string textOf(const Decisions &decisions) {
  std::string text;
  for (const DecisionName &name : decisionNames())
    text += name.key.str() + "=" + name.value(decisions) + " ";
  return text;
}

} // namespace dtc
