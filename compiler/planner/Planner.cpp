// Chooses the plan that trains fastest and fits.
#include "compiler/planner/Planner.h"

#include "compiler/driver/Pipelines.h"
#include "compiler/planner/ApplyPlan.h"
#include "compiler/planner/ModelFacts.h"
#include "compiler/planner/ProgramCost.h"
#include "compiler/support/Diagnostics.h"
#include "compiler/support/Units.h"
#include "passes/shard/ParameterPlacement.h"

#include "mlir/IR/OwningOpRef.h"

#include <algorithm>
#include <chrono>
#include <numeric>

using namespace mlir;

namespace dtc {
namespace {

std::string number(int64_t value) { return std::to_string(value); }

std::vector<int64_t> divisorsOf(int64_t value) {
  std::vector<int64_t> divisors;
  for (int64_t d = 1; d * d <= value; ++d)
    if (value % d == 0) {
      divisors.push_back(d);
      if (d * d != value)
        divisors.push_back(value / d);
    }
  std::sort(divisors.begin(), divisors.end());
  return divisors;
}

int64_t nearestOf(const std::vector<int64_t> &choices, int64_t value) {
  return *std::min_element(choices.begin(), choices.end(), [&](int64_t a, int64_t b) {
    return std::llabs(a - value) < std::llabs(b - value);
  });
}

// The values of --fix, checked one by one.
struct Pins {
  std::optional<int64_t> dp, tp, sp, zero, microBatch;
};

std::optional<UserError> readPins(const std::map<std::string, std::string> &fixed, Pins &pins) {
  struct Key {
    const char *name;
    int64_t low, high; // what dtc searches today
    std::optional<int64_t> *pin;
  };
  std::optional<int64_t> unused;
  const Key keys[] = {{"dp", 1, 1 << 20, &pins.dp},
                      {"tp", 1, 1 << 20, &pins.tp},
                      {"pp", 1, 1, &unused},
                      {"cp", 1, 1, &unused},
                      {"ep", 1, 1, &unused},
                      {"zero", 0, 1, &pins.zero},
                      {"sp", 0, 1, &pins.sp},
                      {"micro_batch", 1, 1 << 30, &pins.microBatch},
                      {"virtual_stages", 1, 1, &unused}};
  for (const auto &[name, text] : fixed) {
    if (name == "schedule" || name == "recompute") {
      std::string only = name == "schedule" ? "1f1b" : "none";
      if (text != only)
        return UserError("--fix " + name + "=" + text + ": this planner searches " + name + "=" +
                             only + " only",
                         "leave the key out, or use --fix " + name + "=" + only);
      continue;
    }
    const Key *key = std::find_if(std::begin(keys), std::end(keys),
                                  [&](const Key &k) { return name == k.name; });
    if (key == std::end(keys))
      return UserError("--fix " + name + "=" + text + ": there is no key '" + name + "'",
                       "keys are dp, tp, pp, cp, ep, zero, sp, micro_batch, schedule, "
                       "virtual_stages, recompute");
    int64_t value = 0;
    if (StringRef(text).getAsInteger(10, value))
      return UserError("--fix " + name + "=" + text + ": '" + text + "' is not a whole number");
    if (value < key->low || value > key->high)
      return UserError(
          "--fix " + name + "=" + text + ": this planner searches " + name +
              (key->low == key->high ? "=" + number(key->low) + " only"
                                     : " from " + number(key->low) + " to " + number(key->high)),
          "the nearest choice is " + name + "=" + number(std::clamp(value, key->low, key->high)));
    *key->pin = value;
  }
  return std::nullopt;
}

struct Candidate {
  int64_t dp, tp, sp, zero, microBatch;
};

class Search {
public:
  Search(const PlanRequest &request) : request(request), facts(readModelFacts(request.model)) {}

  Result<PlanOutcome> run() {
    auto start = std::chrono::steady_clock::now();
    if (std::optional<UserError> error = readPins(request.fixed, pins))
      return *error;
    std::vector<Candidate> candidates;
    if (std::optional<UserError> error = enumerate(candidates))
      return *error;
    // A candidate that can't be partitioned is passed over; where none can, the first one's error
    // is the answer.
    DiagnosticCapture capture(request.model->getContext());
    std::vector<Plan> plans;
    for (const Candidate &candidate : candidates) {
      std::optional<Plan> plan = evaluate(candidate);
      if (plan)
        plans.push_back(std::move(*plan));
    }
    if (plans.empty())
      return capture.errorOr(
          UserError("planning '" + facts.name + "': no candidate could be partitioned"));
    rank(plans);
    if (!plans.front().predicted.fits && !request.ignoreMemory)
      return nothingFits(plans);
    PlanOutcome outcome;
    outcome.best = plans.front();
    outcome.others.assign(plans.begin() + 1, plans.end());
    finishSearch(outcome.best, plans.size(), start);
    return outcome;
  }

private:
  // The fastest first; those that do not fit last, unless memory is to be ignored. Ties keep the
  // order of enumeration.
  void rank(std::vector<Plan> &plans) {
    std::vector<size_t> order(plans.size());
    std::iota(order.begin(), order.end(), size_t(0));
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      const PlanPrediction &left = plans[a].predicted, &right = plans[b].predicted;
      bool leftFits = left.fits || request.ignoreMemory,
           rightFits = right.fits || request.ignoreMemory;
      if (leftFits != rightFits)
        return leftFits;
      return left.stepSeconds != right.stepSeconds ? left.stepSeconds < right.stepSeconds : a < b;
    });
    std::vector<Plan> ranked;
    for (size_t index : order)
      ranked.push_back(std::move(plans[index]));
    plans = std::move(ranked);
  }

  std::optional<UserError> enumerate(std::vector<Candidate> &candidates) {
    int64_t devices = request.topology.numDevices();
    std::vector<int64_t> divisors = divisorsOf(devices);
    for (auto [name, pin] : {std::pair{"tp", pins.tp}, {"dp", pins.dp}})
      if (pin && devices % *pin != 0)
        return UserError(std::string("--fix ") + name + "=" + number(*pin) +
                             " does not divide the " + number(devices) + " devices of '" +
                             request.topology.name + "'",
                         std::string("the nearest that does is ") + name + "=" +
                             number(nearestOf(divisors, *pin)));
    if (pins.tp && pins.dp && *pins.tp * *pins.dp != devices)
      return UserError("--fix dp=" + number(*pins.dp) + ",tp=" + number(*pins.tp) + " uses " +
                           number(*pins.dp * *pins.tp) + " of " + number(devices) + " devices",
                       "with tp=" + number(*pins.tp) + " use dp=" + number(devices / *pins.tp) +
                           ", or pass --devices " + number(*pins.dp * *pins.tp));
    for (int64_t tp : divisors) {
      int64_t dp = devices / tp;
      if ((pins.tp && tp != *pins.tp) || (pins.dp && dp != *pins.dp) ||
          request.globalBatch % dp != 0)
        continue;
      addBatches(dp, tp, candidates);
    }
    return candidates.empty() ? std::optional<UserError>(noCandidate(devices)) : std::nullopt;
  }

  void addBatches(int64_t dp, int64_t tp, std::vector<Candidate> &candidates) {
    for (int64_t microBatch : divisorsOf(request.globalBatch / dp)) {
      if (pins.microBatch ? microBatch != *pins.microBatch : microBatch > kMostSamples)
        continue;
      for (int64_t sp : {0, 1})
        for (int64_t zero : {0, 1}) {
          bool spPossible = sp == 0 || (facts.sequenceLength % tp == 0 && (tp > 1 || pins.sp));
          bool zeroUseful = zero == 0 || dp > 1 || pins.zero;
          if ((pins.sp && sp != *pins.sp) || (pins.zero && zero != *pins.zero) || !spPossible ||
              !zeroUseful)
            continue;
          candidates.push_back({dp, tp, sp, zero, microBatch});
        }
    }
  }

  UserError noCandidate(int64_t devices) {
    if (pins.sp && *pins.sp == 1 && pins.tp && facts.sequenceLength % *pins.tp != 0)
      return UserError(
          "--fix sp=1 with tp=" + number(*pins.tp) + ": tp does not divide the sequence length " +
              number(facts.sequenceLength),
          "use sp=0, or tp=" + number(nearestOf(divisorsOf(facts.sequenceLength), *pins.tp)));
    if (pins.microBatch) {
      int64_t dp = pins.dp ? *pins.dp : pins.tp ? devices / *pins.tp : 1;
      if (request.globalBatch % dp == 0)
        return UserError(
            "--fix micro_batch=" + number(*pins.microBatch) + " does not divide the " +
                number(request.globalBatch / dp) +
                " samples of each data-parallel rank (global batch " + number(request.globalBatch) +
                ", dp " + number(dp) + ")",
            "the nearest that does is micro_batch=" +
                number(nearestOf(divisorsOf(request.globalBatch / dp), *pins.microBatch)));
    }
    std::vector<int64_t> feasible;
    for (int64_t tp : divisorsOf(devices))
      feasible.push_back(devices / tp);
    int64_t dp = pins.dp ? *pins.dp : pins.tp ? devices / *pins.tp : devices;
    int64_t below = request.globalBatch / dp * dp;
    return UserError("global batch " + number(request.globalBatch) + " can't be split over dp=" +
                         number(dp) + " data-parallel ranks: it does not divide",
                     "the nearest global batch that divides is " + number(std::max(dp, below)) +
                         (pins.dp || pins.tp ? ", or leave dp and tp to the planner" : ""));
  }

  // Partitions a copy of the model and costs what comes out.
  std::optional<Plan> evaluate(const Candidate &c) {
    Plan plan = describe(c);
    ModuleOp model = request.model;
    OwningOpRef<ModuleOp> module(model.clone());
    StepOptions step;
    step.batch = c.dp * c.microBatch;
    step.microBatches = plan.numMicroBatches;
    step.optimizer = request.optimizer;
    Mesh mesh{{"dp", "tp"}, {c.dp, c.tp}};
    if (!placeParameters(*module, mesh, plan, step))
      return std::nullopt;
    PassManager passes(module->getContext());
    passes.enableVerifier(false);
    addGraphPhase(passes, step);
    addShardPhase(passes);
    if (failed(passes.run(*module)))
      return std::nullopt;
    ProgramCost cost = costProgram(*module, mesh, request.topology, plan.numMicroBatches,
                                   precisionModel(request.precision));
    predict(plan, cost);
    return plan;
  }

  // Placements depend on dp, tp, sp and the micro-batch; the batch is bound on a copy to choose
  // them.
  bool placeParameters(ModuleOp module, const Mesh &mesh, Plan &plan, const StepOptions &step) {
    OwningOpRef<ModuleOp> bound(module.clone());
    PassManager passes(module->getContext());
    passes.enableVerifier(false);
    addBindBatch(passes, step);
    if (failed(passes.run(*bound)))
      return false;
    ParameterPlacementOptions options;
    options.weightAxis = plan.tp > 1 ? 1 : -1;
    options.policy = {/*dataAxis=*/0, plan.sequenceParallel};
    if (failed(chooseParameterPlacements(*bound, mesh, options)))
      return false;
    recordPlacements(*bound, plan);
    return succeeded(applyPlan(module, plan));
  }

  Plan describe(const Candidate &c) {
    Plan plan;
    plan.modelName = facts.name;
    plan.parameters = facts.parameters;
    plan.sequenceLength = facts.sequenceLength;
    plan.flopsPerStep = facts.flopsPerSample * static_cast<double>(request.globalBatch);
    plan.topologyName = request.topology.name;
    plan.devices = request.topology.numDevices();
    plan.nodes = request.topology.nodes;
    plan.dp = c.dp;
    plan.tp = c.tp;
    plan.sequenceParallel = c.sp != 0;
    plan.zero = c.zero;
    plan.microBatch = c.microBatch;
    plan.globalBatch = request.globalBatch;
    plan.numMicroBatches = request.globalBatch / (c.dp * c.microBatch);
    plan.precision = request.precision;
    plan.optimizer = request.optimizer;
    return plan;
  }

  void predict(Plan &plan, const ProgramCost &cost) {
    PlanPrediction &p = plan.predicted;
    double devices = static_cast<double>(plan.devices);
    p.stepSeconds = cost.stepSeconds();
    p.tokensPerSecond = static_cast<double>(plan.globalBatch * plan.sequenceLength) / p.stepSeconds;
    p.tflopsPerDevice = plan.flopsPerStep / p.stepSeconds / devices / 1e12;
    double peak = request.topology.device.peak(precisionModel(request.precision).type);
    p.mfu = peak > 0 ? p.tflopsPerDevice * 1e12 / peak : 0;
    p.exposedCommSeconds = cost.exposedSeconds();
    p.memory = cost.memory;
    p.peakMemoryBytes = cost.memory.total();
    int64_t limit = request.maxMemoryBytes.value_or(request.topology.device.memoryBytes);
    p.fits = p.peakMemoryBytes <= limit;
    PlanStage stage;
    stage.lastLayer = std::max<int64_t>(0, facts.layers - 1);
    for (int64_t rank = 0; rank < plan.devices; ++rank)
      stage.ranks.push_back(rank);
    stage.peakMemoryBytes = p.peakMemoryBytes;
    stage.computeSeconds = cost.computeSeconds;
    stage.exposedCommSeconds = p.exposedCommSeconds;
    stage.recompute.assign(facts.layers, "none");
    plan.stages = {stage};
  }

  UserError nothingFits(const std::vector<Plan> &plans) {
    const Plan *least = &plans.front();
    for (const Plan &plan : plans)
      if (plan.predicted.peakMemoryBytes < least->predicted.peakMemoryBytes)
        least = &plan;
    int64_t limit = request.maxMemoryBytes.value_or(request.topology.device.memoryBytes);
    auto bytesText = [](int64_t bytes) {
      return printRounded(static_cast<double>(bytes), Quantity::Bytes);
    };
    return UserError(
        "no plan fits: the smallest (dp=" + number(least->dp) + " tp=" + number(least->tp) +
            " sp=" + number(least->sequenceParallel) + " zero=" + number(least->zero) +
            " micro_batch=" + number(least->microBatch) + ") needs " +
            bytesText(least->predicted.peakMemoryBytes) + " per device, the limit is " +
            bytesText(limit),
        "use more devices, a shorter sequence, or --max-memory none to see the plan all the same");
  }

  void finishSearch(Plan &best, size_t candidates, std::chrono::steady_clock::time_point start) {
    double peak = request.topology.device.peak(precisionModel(request.precision).type);
    best.search.candidates = static_cast<int64_t>(candidates);
    // No plan does the model's products faster than every device at its peak.
    best.search.lowerBoundSeconds = best.flopsPerStep / (peak * static_cast<double>(best.devices));
    best.search.optimalityGap = best.predicted.stepSeconds / best.search.lowerBoundSeconds - 1;
    best.search.exhaustive = true;
    best.search.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  // Larger micro-batches change nothing but memory: products are long enough by then.
  static constexpr int64_t kMostSamples = 32;

  const PlanRequest &request;
  ModelFacts facts;
  Pins pins;
};

} // namespace

Result<PlanOutcome> planModel(const PlanRequest &request) { return Search(request).run(); }

} // namespace dtc
