// Chooses the plan that trains fastest and fits.
#include "compiler/search/planner/Planner.h"

#include "compiler/decide/decisions/AllDecisions.h"
#include "compiler/decide/decisions/Decision.h"
#include "compiler/decide/decisions/ReadPins.h"
#include "compiler/decide/plan/Executable.h"
#include "compiler/describe/stack/LoadStack.h"
#include "compiler/price/estimate/Relaxation.h"
#include "compiler/price/estimate/SharedEstimates.h"
#include "compiler/price/memory/ProgramMemory.h"
#include "compiler/price/memory/StaticMemory.h"
#include "compiler/price/uncertainty/Uncertainty.h"
#include "compiler/price/workload/ApplyStack.h"
#include "compiler/search/planner/DescribePlan.h"
#include "compiler/search/planner/FewerNodes.h"
#include "compiler/search/planner/JointSearch.h"
#include "compiler/search/planner/LegalPlans.h"
#include "compiler/search/planner/MeshSpace.h"
#include "compiler/search/planner/NothingFits.h"
#include "compiler/search/planner/Simplicity.h"
#include "compiler/support/Diagnostics.h"
#include "compiler/support/Units.h"

#include <chrono>
#include <cmath>
#include <numeric>
#include <set>

using namespace mlir;

namespace dtc {

using D = Decisions;
namespace {

// Runners-up that are completed with ranks and placements, for the plan cache.
constexpr size_t kMostWithRanks = 32;
// Largest number of plans that are lowered for their static memory before the search gives up.
constexpr size_t kMostLowered = 16;
// Largest number of further plans, those with the smallest estimated memory.
constexpr size_t kMostLeanLowered = 8;
// Largest number of plans simpler than the fastest that are lowered as well.
constexpr size_t kMostSimplerLowered = 4;
// Plans whose waits for stage transfers are separated from the bubble: more than are printed.
constexpr size_t kMostShown = 12;
// Largest number of smaller node counts that are planned for.
constexpr size_t kMostNodeCounts = 12;

std::string number(int64_t value) { return std::to_string(value); }

std::string bytesText(double bytes) { return printRounded(bytes, Quantity::Bytes); }

std::vector<int64_t> bucketSizesUnder(const Pins &pins) {
  if (pins[&D::bucketBytes])
    return {*pins[&D::bucketBytes]};
  if (pins[&D::overlapGradients])
    return *pins[&D::overlapGradients] ? bucketSizes().drop_back().vec()
                                       : std::vector<int64_t>{kOneBucket};
  return bucketSizes().vec();
}

void bound(PlanSearch &search, double stepSeconds, double relaxedSeconds) {
  search.lowerBoundSeconds = relaxedSeconds;
  search.optimalityGap = relaxedSeconds > 0 ? stepSeconds / relaxedSeconds - 1 : 0;
}

// The results of the search on one number of nodes, with or without a plan.
struct Searched {
  double bound = std::numeric_limits<double>::infinity(); // seconds that no plan of the space beats
  int64_t candidates = 0;
  SearchEnd end = SearchEnd::Bound;
};

void boundSearch(PlanSearch &search, double stepSeconds, double seconds) {
  search.searchBoundSeconds = std::min(seconds, stepSeconds);
  search.searchGap =
      search.searchBoundSeconds > 0 ? stepSeconds / search.searchBoundSeconds - 1 : 0;
}

class PlanSearcher {
public:
  // Keeps the references. Plans whose expected seconds are not below `fasterThan` are skipped.
  // `cells` are those of the request's model.
  PlanSearcher(const PlanRequest &request, const Pins &pins, const SoftwareStack &software,
               CellStore &cells, double fasterThan = std::numeric_limits<double>::infinity())
      : fasterThan(fasterThan), request(request), pins(pins), cells(cells),
        facts(readModelFacts(request.model)), modelCompiles(!graph::findPlanOnly(request.model)) {
    estimate.topology = &request.topology;
    estimate.software = &software;
    estimate.shared = &shared;
    estimate.precision = cellPrecision(request.precision, request.trainedBy(), software);
    if (request.gradDtype)
      setReduction(*request.gradDtype, estimate.precision);
    if (software.choosesBuckets)
      estimate.bucketSizes = bucketSizesUnder(pins);
    if (software.space.pipelinesReduceLast)
      estimate.bucketSizesOfPipelines = {kOneBucket};
    estimate.zeroThatReducesLast = software.space.zeroThatReducesLast;
    estimate.ignoresMemory = request.ignoreMemory;
    if (!request.topology.isUniform())
      limits.groups = request.topology.groups;
    limits.space = software.space;
    limits.topologyName = request.topology.name;
    limits.devices = request.topology.numDevices();
    limits.globalBatch = request.globalBatch;
    limits.layers = facts.layers;
    limits.sequence = facts.sequenceLength;
    limits.experts = facts.experts;
    limits.tokenGroups = facts.tokenGroups;
    limits.kvHeads = facts.kvHeads;
    limits.heads = facts.architecture.heads;
    limits.inner = facts.architecture.inner;
    limits.vocabulary = facts.architecture.vocabulary;
    limits.slides = facts.slides;
    limits.contextKinds = facts.contextKinds;
    limits.attentionKinds = facts.attentionKinds;
    limits.logits = facts.logits;
    limits.needsWholeBatch = facts.needsWholeBatch;
    limits.untied = facts.untied;
    bool compiles = modelCompiles && software.runsPrograms;
    bool mayCompile = compiles && !pins.beyondExecutable();
    bool runsHere = request.topology.device.deviceClass == DeviceClass::Cpu && mayCompile;
    limits.executable = request.executable || runsHere || (request.prefersExecutable && mayCompile);
    limits.needsOneStage = limits.executable && facts.multipliesMeansOfExperts;
    // On other devices memory is estimated, as for other stacks, since lowering a program takes
    // seconds.
    if ((request.executable || runsHere) && compiles)
      readPrograms();
    setMemoryLimit();
    // Other software places tensors as Megatron does, and a pin of its sequence parallelism asks
    // for the same.
    limits.searchesPlacements =
        software.searchesPlacements &&
        pins[&D::placement].value_or(!pins[&D::sequenceParallel].has_value());
    limits.choosesBuckets = software.choosesBuckets;
    // a CPU, which is its own host, gains nothing
    limits.mayOffloadActivations = request.topology.device.host.isKnown();
    // products of whole matrices, which muon makes, are for the device
    limits.mayOffload = limits.mayOffloadActivations && request.optimizer != OptimizerKind::Muon;
    Decisions apart;
    apart.ep = 2;
    limits.exchangesRows = cells.rowExchangeOf(apart).ranks > 1;
  }

  Result<PlanResult> run(std::optional<Plan> *leastMemory) {
    auto start = std::chrono::steady_clock::now();
    Result<std::vector<Decisions>> meshes = enumerateMeshes(limits, pins);
    if (!meshes)
      return meshes.error();
    if (!request.explainsMemory && nothingCanFit())
      return UserError("no plan fits");
    // A mesh that can't be partitioned is skipped; if none can be, the error is that of the first.
    DiagnosticCapture capture(request.model->getContext());
    SearchOptions options = searchOptions();
    SearchResult found = searchJointly(cells, *meshes, limits, pins, estimate, options);
    searched = {found.lowerBound, found.costed, found.end};
    if (!found.leastMemory && (pins[&D::placement] == 1))
      return UserError("--fix placement=searched: the search finds no placements for any mesh that "
                       "the pins allow",
                       "placements are searched where tp is 2 or more; use placement=megatron");
    if (!found.leastMemory)
      return capture.errorOr(noPlan());
    if (found.ranked.empty()) {
      if (leastMemory)
        *leastMemory = describe(*found.leastMemory);
      return nothingFits(*found.leastMemory, limitText());
    }
    PlanResult planResult;
    for (const Candidate &candidate : found.ranked)
      planResult.others.push_back(describeWithoutRanks(candidate));
    for (size_t index = 0; index < std::min(kMostShown, found.ranked.size()); ++index)
      setTransfers(planResult.others[index], found.ranked[index]);
    Lowered lowered;
    size_t fastest = choose(planResult.others, found, lowered);
    if (fastest == planResult.others.size()) // the error says why none could be lowered
      return capture.errorOr(noneHolds(lowered, *found.leastMemory));
    size_t chosen = simplest(planResult.others, found, fastest, lowered);
    if (chosen < fastest) // the search for the fastest had not reached it
      fastest = chosen;
    if (chosen >= kMostShown)
      setTransfers(planResult.others[chosen], found.ranked[chosen]);
    for (size_t index = 0; index < found.ranked.size(); ++index)
      if (index < kMostWithRanks || index == chosen)
        setRanks(planResult.others[index], found.ranked[index], request.topology);
    planResult.best = planResult.others[chosen];
    if (auto kept = lowered.kept.find(&planResult.others[chosen]); kept != lowered.kept.end())
      planResult.scheduled = std::move(kept->second);
    setFastest(planResult.best, planResult.others[fastest], found.ranked[fastest]);
    std::vector<Plan> others;
    for (Plan &other : planResult.others)
      if (&other != &planResult.others[chosen] && !lowered.notExecutable.contains(&other))
        others.push_back(std::move(other));
    planResult.others = std::move(others);
    PlanSearch &search = planResult.best.search;
    search.candidates = found.costed;
    search.end = found.end;
    search.mostSeconds = request.searchSeconds;
    double step = planResult.best.predicted.stepSeconds;
    double relaxed = relaxedSeconds(); // holds for every plan, also for the remaining ones
    searched.bound = std::max(found.lowerBound, relaxed);
    boundSearch(search, step, searched.bound);
    bound(search, step, relaxed);
    search.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return planResult;
  }

  // Returns the results of run(), also if it failed.
  const Searched &whatIsKnown() const { return searched; }

private:
  void readPrograms() {
    // hides the diagnostics of programs that can't be lowered
    DiagnosticCapture capture(request.model->getContext());
    ProgramMemory &lowered = programs.emplace(request.model, request.trainedBy(), request.precision,
                                              request.programGradDtype(), request.onGpu);
    // If any memory is accepted, only the chosen plan is lowered.
    if (!request.ignoreMemory)
      estimate.programs = &lowered;
    if (limits.globalBatch > kFewLayers / std::max<int64_t>(limits.layers, 1))
      limits.instructionsOfLayer = lowered.instructionsOfLayer();
  }

  Plan describeWithoutRanks(const Candidate &candidate) const {
    Plan plan = describePlan(candidate, request, facts);
    setErrors(plan, candidate);
    auto typeOf = [&](double bytes) {
      return bytes >= bytesOf(GradientType::F32)   ? GradientType::F32
             : request.precision == Precision::F16 ? GradientType::F16
                                                   : GradientType::BF16;
    };
    plan.gradients = {typeOf(estimate.precision.reduceBytes),
                      typeOf(estimate.precision.gradientBytes)};
    return plan;
  }

  Plan describe(const Candidate &candidate) const {
    Plan plan = describeWithoutRanks(candidate);
    setRanks(plan, candidate, request.topology);
    return plan;
  }

  ErrorClass errorClass() const {
    const DeviceKind &device = request.topology.device;
    bool isCpu = device.deviceClass == DeviceClass::Cpu;
    ErrorClass key{{estimate.software->name},
                   isCpu ? std::string("CPUs") : deviceWordOf(device.name),
                   facts.experts > 1 ? ModelKind::Mixture : ModelKind::Dense};
    llvm::append_range(key.stacks, estimate.software->extends);
    return key;
  }

  // Returns true if all devices together are too small for one copy of all parameters and states
  // and, for a program, the inputs of a step. Returns false if that is not known.
  bool nothingCanFit() const {
    if (request.ignoreMemory || !request.topology.isUniform())
      return false;
    const CellPrecision &p = estimate.precision;
    double ofParameter =
        p.bytesAtRest(3, limits.mayOffload) + (limits.mayOffload ? 0 : p.optimizerBytes);
    double bytes = static_cast<double>(facts.parameters - facts.frozen) * ofParameter +
                   static_cast<double>(facts.frozen) * p.parameterBytes;
    if (programs)
      bytes += programs->inputsOf(static_cast<double>(request.globalBatch)).total();
    return bytes > static_cast<double>(request.topology.numDevices()) * estimate.memoryLimit;
  }

  // Sets the memory that a plan may use of a device.
  void setMemoryLimit() {
    errors = Uncertainty::of(errorClass());
    // The memory of programs is planned exactly, and no errors were published for CPUs.
    bool isExact = estimate.programs || request.topology.device.deviceClass == DeviceClass::Cpu;
    memoryErrors = isExact ? Uncertainty::exact() : errors;
    double has =
        static_cast<double>(request.maxMemoryBytes.value_or(request.topology.device.memoryBytes));
    estimate.isLimitOfDevice = !request.maxMemoryBytes;
    if (request.marginShare)
      estimate.usableShare = 1 - *request.marginShare;
    else if (request.marginBytes)
      estimate.usableShare = std::max(0.0, 1 - static_cast<double>(*request.marginBytes) / has);
    else if (request.risk || (!request.maxMemoryBytes && !request.ignoreMemory))
      estimate.usableShare = usableShareAt(request.risk.value_or(kUsualRisk));
    estimate.memoryLimit = estimate.usableShare * has;
    limits.memoryBytes = request.ignoreMemory ? 0 : estimate.memoryLimit;
  }

  // Returns the share of a device's memory at which a plan that uses all of it does not fit with
  // the probability `risk`.
  double usableShareAt(double risk) const {
    return 1 / std::max(1.0, memoryErrors->memoryFactor(1 - risk));
  }

  // Returns the probability that the stage fits that is the least likely to.
  double fitProbability(const StepEstimate &step) const {
    double least = 1;
    for (const StageEstimate &stage : step.stages)
      least = std::min(least, memoryErrors->fitProbability(
                                  stage.memory.total(), stage.memoryLimit / estimate.usableShare));
    return least;
  }

  SearchOptions searchOptions() const {
    SearchOptions options;
    options.devicesPerNode = request.topology.devicesPerNode;
    options.work = request.searchWork;
    options.seconds = request.searchSeconds;
    options.ignoreMemory = request.ignoreMemory;
    options.fasterThan = fasterThan;
    options.tie = tieShare(errors->noise());
    options.wantsLeastMemory = request.explainsMemory;
    if (!request.ignoreMemory && estimate.usableShare > 0) {
      options.fitProbability = [this](const StepEstimate &step) { return fitProbability(step); };
      // A request for more than the usual share must not lose plans by it.
      bool isAsked = request.risk || request.marginShare || request.marginBytes;
      double usual = usableShareAt(kUsualRisk);
      if (isAsked && usual < estimate.usableShare)
        options.lessMemoryShare = usual / estimate.usableShare;
    }
    return options;
  }

  void setErrors(Plan &plan, const Candidate &candidate) const {
    PlanPrediction &p = plan.predicted;
    p.stepLowSeconds = errors->stepLowSeconds(p.stepSeconds);
    p.stepHighSeconds = errors->stepHighSeconds(p.stepSeconds);
    p.fitProbability = estimate.usableShare > 0 ? fitProbability(candidate.step) : 0;
    const StepEstimate &step = candidate.step;
    p.usableMemoryBytes = static_cast<int64_t>(step.stages[step.fullestStage].memoryLimit);
    p.noise = errors->noise();
    const SoftwareStack &software = *estimate.software;
    p.basis = errors->basis(software.runsPrograms ? kOwnStack : software.name);
  }

  std::string limitText() const {
    std::string text = bytesText(estimate.memoryLimit);
    if (estimate.usableShare < 1)
      text += " (" + bytesText(estimate.memoryLimit / estimate.usableShare) +
              " less the margin of --memory-margin or --risk)";
    return text;
  }

  using LoweredStage =
      std::pair<std::vector<std::pair<int64_t, int64_t>>, std::vector<std::string>>;

  // Returns the key of a lowered plan. Plans that differ only in the order of axes, or in the
  // allowed but unused recomputation, have the same key.
  static std::pair<Decisions, std::vector<LoweredStage>> loweredOf(const Plan &plan) {
    std::vector<LoweredStage> stages;
    for (const PlanStage &stage : plan.stages)
      stages.emplace_back(stage.chunks, stage.recompute);
    return {keyOf(KeptResult::Lowered, plan.decisions), std::move(stages)};
  }

  // Results of the plans that the compiler has lowered.
  struct Lowered {
    size_t count = 0; // number of plans that were lowered
    std::map<std::pair<Decisions, std::vector<LoweredStage>>, std::vector<StaticSize>>
        sizes;                                  // static sizes of each key
    std::map<const Plan *, ScheduledStep> kept; // of plans that were lowered themselves, and fit
    const Plan *smallest = nullptr;  // the smallest of the lowered plans that are too large
    std::optional<UserError> whyNot; // reason why the first plan that is not executable is not
    llvm::SmallDenseSet<const Plan *> notExecutable;
    // Number of micro-batches by pp and tp at which programs are longer than twice an executable's
    // limit.
    std::map<std::pair<int64_t, int64_t>, double> mostMicroBatches;
  };

  // Returns the error of an empty space.
  UserError noPlan() const {
    std::string planning = "planning '" + facts.name + "': ";
    if (!request.fixed.empty())
      return UserError(planning + "no plan meets all pins of --fix",
                       "leave out one of its keys, so that the planner chooses it");
    const std::string &name = estimate.software->name;
    return UserError(
        planning + "software '" + name + "' can't spread it over " + number(limits.devices) +
            " devices with a global batch of " + number(limits.globalBatch),
        "use fewer devices or a larger --global-batch; what it can do is under [space] of "
        "'dtc stack show " +
            name + "'");
  }

  // Returns a lower bound in seconds of a step of any plan; 0 if it is not known.
  double relaxedSeconds() {
    const ModelCells *whole = cells.get(1, false);
    return whole ? relaxedStepSeconds(
                       applyStack(*whole, *estimate.software, estimate.precision.compute),
                       request.globalBatch, request.topology, estimate.precision)
                 : 0;
  }

  // Returns the index of the first plan that fits after it is lowered. If the fastest do not fit,
  // tries the few with the smallest estimated memory. Returns the number of plans if none fits.
  size_t choose(std::vector<Plan> &plans, const SearchResult &found, Lowered &lowered) {
    std::vector<size_t> order(plans.size());
    std::iota(order.begin(), order.end(), size_t(0));
    size_t chosen = firstThatHolds(order, kMostLowered, plans, found, lowered);
    if (chosen < plans.size())
      return chosen;
    llvm::sort(order, [&](size_t a, size_t b) {
      return std::pair(plans[a].predicted.peakMemoryBytes, a) <
             std::pair(plans[b].predicted.peakMemoryBytes, b);
    });
    order.resize(std::min(order.size(), kMostLeanLowered));
    llvm::sort(order); // by seconds
    return firstThatHolds(order, kMostLowered + kMostLeanLowered, plans, found, lowered);
  }

  // Returns the first plan of `order` that fits after it is lowered. Returns the number of plans if
  // none does before `mostLowered` plans are lowered in all.
  size_t firstThatHolds(llvm::ArrayRef<size_t> order, size_t mostLowered, std::vector<Plan> &plans,
                        const SearchResult &found, Lowered &lowered) {
    for (size_t index : order) {
      if (lowered.count >= mostLowered)
        break;
      const Decisions &d = found.ranked[index].decisions;
      if (holds(plans[index], found.placementsOf(d), lowered))
        return index;
    }
    return plans.size();
  }

  // Returns the simplest of the plans that tie with the fastest that fits, and that fit themselves.
  size_t simplest(std::vector<Plan> &plans, const SearchResult &found, size_t fastest,
                  Lowered &lowered) {
    auto simplicityOf = [&](size_t index) {
      return dtc::simplicityOf(plans[index], found.ranked[index].score());
    };
    double most = found.ranked[fastest].score() * (1 + tieShare(errors->noise()));
    std::vector<size_t> order;
    for (auto [index, candidate] : llvm::enumerate(found.ranked))
      if (candidate.step.isRefined && candidate.score() <= most &&
          simplicityOf(index) < simplicityOf(fastest))
        order.push_back(index);
    llvm::sort(order, [&](size_t a, size_t b) {
      return std::pair(simplicityOf(a), a) < std::pair(simplicityOf(b), b);
    });
    size_t simpler =
        firstThatHolds(order, lowered.count + kMostSimplerLowered, plans, found, lowered);
    return simpler < plans.size() ? simpler : fastest;
  }

  void setFastest(Plan &plan, const Plan &fastest, const Candidate &candidate) const {
    PlanSearch &search = plan.search;
    search.fastestSeconds = candidate.step.stepSeconds;
    search.fastestExpectedSeconds = candidate.score();
    search.tieShare = tieShare(errors->noise());
    search.passedOver = reasonToPassOver(fastest, plan);
  }

  // Returns true if placements can be found and, for a plan that can be lowered, its static memory
  // fits.
  bool holds(Plan &plan, const SearchedPlacements &placements, Lowered &lowered) {
    if (!placeTensors(request.model, plan, placements))
      return false;
    std::string whyNot = whyNotExecutable(plan);
    bool compiles = modelCompiles && whyNot.empty();
    if (!compiles && limits.executable)
      return refuse(plan, UserError(whyNot), lowered);
    if (!compiles || !estimate.software->runsPrograms ||
        request.topology.device.deviceClass != DeviceClass::Cpu)
      return true;
    const Decisions &d = plan.decisions;
    // A plan that recomputes less executes more than half as many instructions.
    if (auto most = lowered.mostMicroBatches.find({d.pp, d.tp});
        most != lowered.mostMicroBatches.end() &&
        static_cast<double>(d.numMicroBatches) > most->second)
      return refuse(plan, *lowered.whyNot, lowered);
    auto [sizes, isNew] = lowered.sizes.try_emplace(loweredOf(plan));
    ScheduledStep step;
    if (isNew) {
      ++lowered.count;
      if (std::optional<SizedStep> found =
              sizeStep(request.model, plan, request.step, request.onGpu)) {
        sizes->second = std::move(found->sizes);
        step = std::move(found->step);
      }
    }
    if (sizes->second.empty())
      return false;
    for (const auto &[stage, size] : llvm::zip_equal(plan.stages, sizes->second)) {
      takeStaticMemory(stage, size);
      if (std::string tooLong = whyTooLong(size.length, plan.decisions.numMicroBatches);
          !tooLong.empty()) {
        lowered.mostMicroBatches.try_emplace(
            {d.pp, d.tp}, 2 * static_cast<double>(d.numMicroBatches) / overLongest(size.length));
        return refuse(plan, UserError(tooLong, kShorterSteps), lowered);
      }
    }
    setFullestStage(plan);
    if (plan.predicted.fits || request.ignoreMemory) {
      if (step.module)
        lowered.kept[&plan] = std::move(step);
      return true;
    }
    if (!lowered.smallest ||
        plan.predicted.peakMemoryBytes < lowered.smallest->predicted.peakMemoryBytes)
      lowered.smallest = &plan;
    return false;
  }

  static bool refuse(const Plan &plan, UserError whyNot, Lowered &lowered) {
    lowered.notExecutable.insert(&plan);
    if (!lowered.whyNot)
      lowered.whyNot = std::move(whyNot);
    return false;
  }

  // Returns the reason why no plan that the search has found can be compiled.
  UserError noneHolds(const Lowered &lowered, const Candidate &least) const {
    if (lowered.smallest)
      return nothingFits(*lowered.smallest, limitText());
    return lowered.whyNot ? *lowered.whyNot : nothingFits(least, limitText());
  }

  // Attributes the difference between the static plan and the estimate to working memory.
  static void takeStaticMemory(PlanStage &stage, StaticSize bytes) {
    PlanMemory &memory = stage.memory;
    memory.activations += bytes.device - memory.total();
    if (memory.activations < 0) {
      memory.temporaries += memory.activations;
      memory.activations = 0;
    }
    if (memory.temporaries < 0) {
      memory.gradients += memory.temporaries;
      memory.temporaries = 0;
    }
    stage.peakMemoryBytes = bytes.device;
    stage.hostBytes = bytes.host;
  }

  void setFullestStage(Plan &plan) const {
    const PlanStage &fullest = *llvm::max_element(plan.stages, [](const auto &a, const auto &b) {
      return a.peakMemoryBytes < b.peakMemoryBytes;
    });
    plan.predicted.memory = fullest.memory;
    plan.predicted.peakMemoryBytes = fullest.peakMemoryBytes;
    // Sums the memory of a CPU, which is its own host.
    int64_t most = 0;
    plan.predicted.hostMemoryBytes = 0;
    for (const PlanStage &stage : plan.stages) {
      most = std::max(most, stage.peakMemoryBytes + stage.hostBytes);
      plan.predicted.hostMemoryBytes = std::max(plan.predicted.hostMemoryBytes, stage.hostBytes);
    }
    plan.predicted.fits = static_cast<double>(most) <= estimate.memoryLimit;
    plan.predicted.fitProbability = plan.predicted.fits ? 1 : 0; // planned to the byte
  }

  double fasterThan;
  const PlanRequest &request;
  const Pins &pins;
  CellStore &cells;
  ModelFacts facts;
  Searched searched;
  bool modelCompiles;                              // the compiler has every op of the model
  std::optional<Uncertainty> errors, memoryErrors; // errors of seconds; errors of bytes
  EstimateRequest estimate;
  SharedEstimates shared;
  std::optional<ProgramMemory> programs;
  SpaceLimits limits;
};

} // namespace

// Returns the software of the request: dtc itself if none is given.
static Result<SoftwareStack> softwareOf(const PlanRequest &request) {
  return request.software ? Result<SoftwareStack>(*request.software)
                          : loadStackFor(kOwnStack, request.topology.device);
}

static std::optional<UserError> checkExecutable(const PlanRequest &request, const Pins &pins) {
  if (const Decision *each = findUncompilable(pins.decisions()))
    return UserError("'dtc compile' can't lower what --fix asks for yet",
                     "use " + each->program.mend.str() +
                         ", or plan without --executable to see what others cost");
  DiagnosticCapture capture(request.model->getContext());
  if (failed(graph::checkCompilable(request.model)))
    return capture.errorOr(UserError("the model has ops that 'dtc compile' can't lower yet"));
  return std::nullopt;
}

// Returns an error for a request that the software can't carry out in any memory.
static std::optional<UserError> checkRequest(const PlanRequest &request, const Pins &pins,
                                             const SoftwareStack &software) {
  if (request.executable)
    if (std::optional<UserError> error = checkExecutable(request, pins))
      return error;
  if (std::optional<UserError> error = checkBuckets(pins, software))
    return error;
  if (std::optional<UserError> error = checkLegal(pins, software))
    return error;
  if (std::optional<UserError> error =
          checkTraining(request.trainedBy(), request.gradDtype, software))
    return error;
  return checkPrecision(request.precision, software, request.topology);
}

// Returns the plan on all nodes, or a faster one on fewer of them: the batch may not divide over
// all, or may be too small for them. `known` has the results of the search on all nodes.
static Result<PlanResult> planOnFewerNodes(const PlanRequest &request, const Pins &pins,
                                           const SoftwareStack &software, CellStore &cells,
                                           Result<PlanResult> onAll, Searched known) {
  auto expectedOf = [](const Plan &plan) { return plan.search.fastestExpectedSeconds; };
  if (!request.mayIdle)
    return onAll;
  const Topology &all = request.topology;
  Result<PlanResult> best = std::move(onAll);
  double stepOnAll = best ? best->best.predicted.stepSeconds : 0;
  double relaxed = best ? best->best.search.lowerBoundSeconds : 0;
  int64_t least = best ? static_cast<int64_t>(std::ceil(static_cast<double>(all.nodes) * relaxed /
                                                        best->best.search.fastestSeconds))
                       : 1;
  size_t tried = 0;
  for (int64_t nodes : fewerNodeCounts(all, request.globalBatch, least, pins)) {
    double fasterThan = best ? expectedOf(best->best) : std::numeric_limits<double>::infinity();
    double share = static_cast<double>(nodes) / static_cast<double>(all.nodes);
    if (relaxed / share >= fasterThan || tried++ == kMostNodeCounts)
      break;
    PlanRequest part = request;
    part.explainsMemory = false;
    Result<Topology> fewer = request.onNodes
                                 ? request.onNodes(nodes)
                                 : Result<Topology>(all.slice(0, nodes * all.devicesPerNode));
    if (!fewer || fewer->numDevices() != nodes * all.devicesPerNode)
      continue;
    part.topology = std::move(*fewer);
    PlanSearcher searcher(part, pins, software, cells, fasterThan);
    Result<PlanResult> planResult = searcher.run(nullptr);
    const Searched &ofPart = searcher.whatIsKnown();
    known = {std::min(known.bound, ofPart.bound), known.candidates + ofPart.candidates,
             std::max(known.end, ofPart.end)};
    if (!planResult || expectedOf(planResult->best) >= fasterThan)
      continue;
    best = std::move(planResult);
    Plan &plan = best->best;
    plan.idleNodes = all.nodes - nodes;
    plan.allNodesSeconds = stepOnAll;
    plan.allNodesBatches = batchesForAll(plan, all.numDevices());
    // The bound includes plans on all nodes.
    bound(plan.search, plan.predicted.stepSeconds, plan.search.lowerBoundSeconds * share);
  }
  if (best) {
    PlanSearch &search = best->best.search;
    search.candidates = known.candidates;
    search.end = known.end;
    boundSearch(search, best->best.predicted.stepSeconds, known.bound);
  }
  return best;
}

Result<PlanResult> planModel(const PlanRequest &request, std::optional<Plan> *leastMemory) {
  Result<Pins> pins = readPins(request.fixed);
  if (!pins)
    return pins.error();
  Result<SoftwareStack> software = softwareOf(request);
  if (!software)
    return software.error();
  if (std::optional<UserError> error = checkRequest(request, *pins, *software))
    return *error;
  if (pins->decisions().offloadOptimizer && request.optimizer == OptimizerKind::Muon)
    return UserError("--fix offload=1: muon makes whole matrices orthogonal, which hosts do not",
                     "use offload=0, or --optimizer adamw");
  if (pins->decisions().offloadOptimizer && !request.topology.device.hostShare().isKnown())
    return UserError("--fix offload=1: topology '" + request.topology.name +
                         "' does not say what its hosts have",
                     "add [host] with memory, memory_bandwidth and link_bandwidth to its file, or "
                     "use offload=0");
  if (pins->decisions().offloadsLayers() && !request.topology.device.host.isKnown())
    return UserError("--fix offload_activations=1: topology '" + request.topology.name +
                         "' does not say what its hosts have beside their devices",
                     "add [host] with memory, memory_bandwidth and link_bandwidth to its file, or "
                     "use offload_activations=0");
  auto start = std::chrono::steady_clock::now();
  FoldedModel folded = foldFor(request.model, request.precision);
  CellStore cells(folded, patternOf(*software), software->runsPrograms);
  PlanSearcher searcher(request, *pins, *software, cells);
  Result<PlanResult> planResult = searcher.run(leastMemory);
  planResult = planOnFewerNodes(request, *pins, *software, cells, std::move(planResult),
                                searcher.whatIsKnown());
  if (!planResult)
    return planResult;
  planResult->best.search.implied = impliedBy(*pins, *software);
  planResult->best.search.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return planResult;
}

} // namespace dtc
