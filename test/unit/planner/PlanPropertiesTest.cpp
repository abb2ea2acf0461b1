// Tests properties of plans of any request: no pinned plan beats a certificate, and a better system
// or a larger space makes no plan slower. DTC_PLAN_REQUESTS=300 DTC_PLAN_SEED=1 draws that many
// random requests; the default is few.
#include "compiler/decide/decisions/ReadPins.h"
#include "compiler/decide/decisions/Words.h"
#include "compiler/describe/frontend/Frontend.h"
#include "compiler/describe/stack/LoadStack.h"
#include "compiler/describe/topology/LoadTopology.h"
#include "compiler/search/planner/JointSearch.h"
#include "compiler/search/planner/PlanRequest.h"
#include "compiler/search/planner/Planner.h"
#include "compiler/search/planner/Simplicity.h"
#include "passes/Pipelines.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/Format.h"
#include "gtest/gtest.h"

#include <cstdlib>
#include <random>

using namespace mlir;

namespace dtc {
namespace {

constexpr int kUsualRequests = 6;
// Tolerance for cuts into stages. Cuts have equal seconds, which other rates may move, so that the
// step's other parts take another share of it. docs/planner.md says how far a cut may be from the
// best one. Three requests of seed 1 need it: at half the latency a step of 9 DGX H100 is 1.03 %
// slower, and two with 1.5 times the peak are 0.2 % and 0.06 % slower.
constexpr double kCuts = 0.02;
// Tolerance for sums in another order, and for decisions between equally fast plans.
constexpr double kSame = 1e-6;

int64_t numberFrom(const char *variable, int64_t usual) {
  const char *text = std::getenv(variable);
  return text ? std::atoll(text) : usual;
}

struct ModelChoice {
  const char *name;
  int64_t sequence;
  int64_t leastDevices; // smallest number that holds its states
};
constexpr ModelChoice kModels[] = {{"gpt2", 1024, 1},          {"llama-3-8b", 8192, 8},
                                   {"mistral-7b", 4096, 8},    {"qwen2-7b", 4096, 8},
                                   {"mixtral-8x7b", 4096, 16}, {"llama-3-70b", 4096, 64},
                                   {"mixtral-8x22b", 4096, 64}};
constexpr const char *kSystems[] = {"dgx-h100",    "dgx-a100-80g",     "dgx-b200", "gb200-nvl72",
                                    "perlmutter",  "grand-teton-h100", "mi300x",   "mi355x",
                                    "g6.48xlarge", "p4d.24xlarge",     "dgx-h200"};
constexpr const char *kStacks[] = {"megatron-core", "megatron-bridge", "torchtitan",
                                   "deepspeed",     "maxtext",         "dtc"};

// Computes expected seconds, as Candidate::score does.
double expectedOf(const Plan &plan) {
  return plan.predicted.stepSeconds * (1 + kLossOfNotFitting * (1 - plan.predicted.fitProbability));
}

// Returns every key of --fix that one value of the plan decides.
std::map<std::string, std::string> pinsOf(const Plan &plan) {
  const Decisions &d = plan.decisions;
  std::map<std::string, std::string> pins;
  auto number = [&](const char *key, int64_t value) { pins[key] = std::to_string(value); };
  number("dp", d.dp);
  number("tp", d.tp);
  number("pp", d.pp);
  number("cp", d.cp);
  number("ep", d.ep);
  if (d.foldedExperts)
    number("etp", 1);
  number("sp", d.sequenceParallel);
  number("zero", d.zero);
  number("zero_group", d.zeroGroup);
  number("micro_batch", d.microBatch);
  pins["schedule"] = toString(d.schedule).str();
  number("virtual_stages", d.virtualStages);
  number("vocab_over_pp", d.vocabOverPp);
  number("offload", d.offloadOptimizer);
  if (!d.mayRecomputeMore())
    pins["recompute"] = toString(d.recompute).str();
  if (d.layersOnHost != LayersOnHost::Some)
    number("offload_activations", d.layersOnHost == LayersOnHost::All);
  pins["placement"] = placementText(d).str();
  pins["axis_order"] = orderText(d.order);
  std::replace(pins["axis_order"].begin(), pins["axis_order"].end(), ' ', '-');
  if (d.cp > 1)
    pins["cp_kind"] = toString(d.contextKind).str();
  if (d.contextKind == ContextKind::Both)
    number("cp_inner", d.contextInner);
  return pins;
}

struct Count {
  int64_t tried = 0, refused = 0, violated = 0;
};

class PlanProperties : public testing::Test {
protected:
  PlanProperties()
      : context(MLIRContext::Threading::DISABLED), seed(numberFrom("DTC_PLAN_SEED", 1)) {
    loadDialects(context);
  }

  int64_t below(int64_t count) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(count));
  }
  template <typename T, size_t N> const T &pick(const T (&values)[N]) {
    return values[static_cast<size_t>(below(N))];
  }

  // Draws a request. Returns false if the model does not fit a drawn system.
  bool draw(int64_t number) {
    random.seed(static_cast<uint64_t>(seed * 1000003 + number));
    const ModelChoice &model = pick(kModels);
    system = pick(kSystems);
    stack = pick(kStacks);
    nodes = std::vector<int64_t>{1, 2, 3, 4, 5, 6, 8, 9, 12, 16}[static_cast<size_t>(below(10))];
    request = PlanRequest();
    request.globalBatch =
        std::vector<int64_t>{8, 16, 32, 48, 64, 128, 256}[static_cast<size_t>(below(7))];
    request.ignoreMemory = below(5) == 0;
    request.precision = Precision::BF16;
    request.explainsMemory = false;
    request.searchWork = kSearchWork / 20;
    Result<Topology> topology = loadTopology(system, nodes);
    if (!topology || topology->numDevices() < model.leastDevices)
      return false;
    request.topology = *topology;
    Result<SoftwareStack> software = loadStackFor(stack, topology->device);
    if (!software)
      return false;
    request.software = *software;
    module =
        loadModel(&context, DTC_SOURCE_DIR "/models/configs/" + std::string(model.name) + ".json",
                  model.sequence, llvm::errs());
    request.model = *module;
    text =
        (llvm::Twine("request ") + llvm::Twine(number) + " of seed " + llvm::Twine(seed) +
         ": dtc plan models/configs/" + model.name + ".json --seq-len " +
         llvm::Twine(model.sequence) + " --topology " + system + " --nodes " + llvm::Twine(nodes) +
         " --global-batch " + llvm::Twine(request.globalBatch) + " --precision bf16 --stack " +
         stack + (request.ignoreMemory ? " --max-memory none" : ""))
            .str();
    return true;
  }

  // Checks a changed request. `most` limits the plan's seconds, which are expected seconds with
  // `isExpected`; `least` is in seconds.
  void check(const std::string &property, const PlanRequest &changed, double most, double least,
             bool isExpected = true, bool mayBeRefused = true) {
    Count &count = counts[property];
    ++count.tried;
    Result<PlanResult> planResult = planModel(changed);
    if (!planResult) {
      ++count.refused;
      count.violated += !mayBeRefused;
      EXPECT_TRUE(mayBeRefused) << property << ", " << text << ": " << planResult.error().message;
      return;
    }
    // The properties hold for the fastest plan that was found. The chosen one may be a simpler one.
    const PlanSearch &search = planResult->best.search;
    double seconds = search.fastestSeconds,
           expected = isExpected ? search.fastestExpectedSeconds : seconds;
    bool isRight = expected <= most * (1 + kSame) && seconds >= least * (1 - kSame);
    count.violated += !isRight;
    std::string pins;
    for (const auto &[key, value] : changed.fixed)
      pins += (pins.empty() ? " --fix " : ",") + key + "=" + value;
    EXPECT_TRUE(isRight) << property << ", " << text << pins << ": " << seconds << " s (expected "
                         << expected << "), wanted " << least << " to " << most;
  }

  // Checks that the plan is the simplest, then the one with the smallest memory, among those within
  // the tie share of the fastest, which is included in its gap.
  void checkChoice(const PlanResult &base) {
    const Plan &plan = base.best;
    const PlanSearch &search = plan.search;
    Count &count = counts["simplest of what ties"];
    ++count.tried;
    auto expected = [&](const Plan &each) {
      return request.ignoreMemory ? each.predicted.stepSeconds : expectedOf(each);
    };
    double most = search.fastestExpectedSeconds * (1 + search.tieShare) * (1 + kSame);
    bool isRight = expected(plan) <= most && search.tieShare <= 0.01 &&
                   search.searchBoundSeconds <= search.fastestSeconds * (1 + kSame) &&
                   std::abs(search.searchGap -
                            (plan.predicted.stepSeconds / search.searchBoundSeconds - 1)) < kSame;
    bool hasFastest = search.passedOver.empty();
    for (const Plan &other : base.others) {
      hasFastest |= other.predicted.stepSeconds == search.fastestSeconds;
      isRight &= expected(other) > most * (1 - 2 * kSame) ||
                 complexityOf(other.decisions) >= complexityOf(plan.decisions);
    }
    count.violated += !(isRight && hasFastest);
    EXPECT_TRUE(isRight && hasFastest) << text << ": passed over for " << search.passedOver;
    simpler += !search.passedOver.empty();
  }

  void checkPins(const PlanResult &base) {
    double certified = base.best.search.searchBoundSeconds,
           none = std::numeric_limits<double>::infinity();
    // A plan that leaves nodes idle is one of a smaller system.
    PlanRequest onPart = request;
    onPart.topology = request.topology.slice(0, base.best.devices);
    auto pinned = [&](const std::map<std::string, std::string> &all,
                      std::initializer_list<const char *> keys) {
      PlanRequest changed = onPart;
      for (const char *key : keys)
        if (auto pin = all.find(key); pin != all.end())
          changed.fixed.insert(*pin);
      return changed;
    };
    PlanRequest whole = onPart;
    whole.fixed = pinsOf(base.best);
    check("all pins of the plan", whole, base.best.predicted.stepSeconds * (1 + 1e-3), certified,
          /*isExpected=*/false, /*mayBeRefused=*/false);
    if (base.others.empty())
      return;
    auto pins =
        pinsOf(base.others[static_cast<size_t>(below(static_cast<int64_t>(base.others.size())))]);
    auto one = std::next(pins.begin(), below(static_cast<int64_t>(pins.size())));
    check("one pin of a neighbour", pinned(pins, {one->first.c_str()}), none, certified, false);
    check("four pins of a neighbour", pinned(pins, {"tp", "pp", "zero", "micro_batch"}), none,
          certified, false);
    PlanRequest all = onPart;
    all.fixed = pins;
    check("all pins of a neighbour", all, none, certified, false);
    // Draws sizes at random.
    PlanRequest drawn = onPart;
    auto sizes = std::vector<int64_t>{1, 2, 4, 8};
    auto size = [&] { return std::to_string(sizes[static_cast<size_t>(below(4))]); };
    drawn.fixed = {{"tp", size()}, {"micro_batch", size()}};
    if (below(2))
      drawn.fixed["zero_group"] = size();
    if (below(2))
      drawn.fixed["recompute"] = below(2) ? "none" : "full";
    if (below(2))
      drawn.fixed["offload_activations"] = drawn.fixed["offload"] = "0";
    check("drawn pins", drawn, none, certified, false);
  }

  void changeLinks(Topology &topology, double bandwidth, double latency) {
    auto change = [&](std::vector<LinkLevel> &levels) {
      for (LinkLevel &level : levels) {
        level.bandwidth *= bandwidth;
        level.sharedBandwidth *= bandwidth;
        for (double &subset : level.subsetBandwidth)
          subset *= bandwidth;
        level.latency *= latency;
      }
    };
    change(topology.levels);
    for (DeviceGroup &group : topology.groups)
      change(group.levels);
  }

  void checkSystems(const PlanResult &base) {
    const Plan &plan = base.best;
    double expected = plan.search.fastestExpectedSeconds;
    auto better = [&](const char *property, double slack,
                      llvm::function_ref<void(PlanRequest &)> change) {
      PlanRequest changed = request;
      change(changed);
      check(property, changed, expected * (1 + slack), 0, true, /*mayBeRefused=*/false);
    };
    better("memory x 1.5", 0, [](PlanRequest &changed) {
      changed.topology.device.memoryBytes = changed.topology.device.memoryBytes * 3 / 2;
    });
    better("links x 2", kCuts, [&](PlanRequest &changed) { changeLinks(changed.topology, 2, 1); });
    better("latency x 0.5", kCuts,
           [&](PlanRequest &changed) { changeLinks(changed.topology, 1, 0.5); });
    better("peak x 1.5", kCuts, [](PlanRequest &changed) {
      for (double &peak : changed.topology.device.peakFlops)
        peak *= 1.5;
    });
    better("wider space", 0, [](PlanRequest &changed) {
      LegalSpace &space = changed.software->space;
      space.recompute = (1u << kNumRecomputes) - 1;
      space.zeroGroups = 0b111;
      space.schedules = ~0u;
    });
    if (!request.ignoreMemory) {
      better("risk 0.5", 0, [](PlanRequest &changed) { changed.risk = 0.5; });
      PlanRequest less = request;
      less.maxMemoryBytes = plan.predicted.usableMemoryBytes * 7 / 10;
      check("less memory", less, std::numeric_limits<double>::infinity(),
            plan.search.searchBoundSeconds, false);
    }
    for (int64_t more : {2 * nodes, nodes + 1})
      if (Result<Topology> larger = loadTopology(system, more)) {
        PlanRequest changed = request;
        changed.topology = *larger;
        changed.onNodes = [this](int64_t fewer) { return loadTopology(system, fewer); };
        check(more == nodes + 1 ? "nodes + 1" : "nodes x 2", changed, expected, 0, true,
              /*mayBeRefused=*/false);
      }
  }

  MLIRContext context;
  int64_t seed;
  std::mt19937_64 random;
  OwningOpRef<ModuleOp> module;
  PlanRequest request;
  std::string system, stack, text;
  int64_t nodes = 1;
  std::map<std::string, Count> counts;
  int64_t simpler = 0; // plans that are not the fastest
};

TEST_F(PlanProperties, HoldOfRandomRequests) {
  int64_t wanted = numberFrom("DTC_PLAN_REQUESTS", kUsualRequests), planned = 0, exhaustive = 0;
  for (int64_t number = numberFrom("DTC_PLAN_FIRST", 0); planned < wanted; ++number) {
    if (!draw(number))
      continue;
    Result<PlanResult> base = planModel(request);
    if (!base)
      continue;
    ++planned;
    exhaustive += base->best.search.exhaustive();
    checkChoice(*base);
    checkPins(*base);
    if (base->best.search.exhaustive())
      checkSystems(*base);
  }
  for (const auto &[property, count] : counts)
    llvm::outs() << llvm::format("%-26s %4lld tried, %4lld refused, %3lld violated\n",
                                 property.c_str(), static_cast<long long>(count.tried),
                                 static_cast<long long>(count.refused),
                                 static_cast<long long>(count.violated));
  llvm::outs() << planned << " requests, " << exhaustive << " searched to the end\n";
  EXPECT_GE(4 * exhaustive, 3 * planned);
  llvm::outs() << simpler << " plans are simpler than the fastest\n";
  EXPECT_TRUE(simpler > 0 || planned < kUsualRequests);
}

// These requests once violated "risk 0.5": a plan with the optimizer on the host is likelier to
// fit, though no faster, and stages of several chunks are no less equal with more memory.
TEST_F(PlanProperties, MoreRiskMakesNoPlanSlower) {
  seed = 1;
  for (int64_t number : {183, 227}) {
    ASSERT_TRUE(draw(number));
    Result<PlanResult> base = planModel(request);
    ASSERT_TRUE(base.ok());
    PlanRequest risky = request;
    risky.risk = 0.5;
    check("risk 0.5", risky, base->best.search.fastestExpectedSeconds, 0, true,
          /*mayBeRefused=*/false);
  }
}

} // namespace
} // namespace dtc
