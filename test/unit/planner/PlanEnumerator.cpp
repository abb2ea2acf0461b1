// Enumerates every plan of a small problem.
#include "test/unit/planner/PlanEnumerator.h"

#include "compiler/price/workload/ApplyStack.h"
#include "test/unit/planner/EventSimulation.h"

#include <set>

namespace dtc {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool allows(const std::optional<int64_t> &pin, int64_t value) { return !pin || *pin == value; }

bool allows(const Pins &pins, ScheduleKind kind) {
  return !pins[&Decisions::schedule] || *pins[&Decisions::schedule] == kind ||
         (*pins[&Decisions::schedule] == ScheduleKind::ZeroBubbleH1 &&
          kind == ScheduleKind::ZeroBubbleV);
}

// Returns the number of ranks that have the same parameters: all, or experts alone.
int64_t replicas(const Decisions &d) {
  if (d.hasUnevenTensor()) // Fewer ranks of tp leave more ranks of dp.
    return d.dp * d.tp;
  int64_t dense = d.dp * d.cp;
  return std::max(dense, d.foldedExperts ? dense * d.tp / d.ep : dense / d.ep);
}

bool turnsBack(ScheduleKind kind) {
  return kind == ScheduleKind::ZeroBubbleV || kind == ScheduleKind::VHalf ||
         kind == ScheduleKind::VMin;
}

// Returns the axes with more than one rank, from the innermost.
std::string namesOf(const Decisions &d, const char *order) {
  std::string names;
  for (const char *axis = order; *axis; ++axis)
    if (d.sizeOf(*axis) > 1)
      names += *axis;
  return names;
}

} // namespace

PlanEnumerator::PlanEnumerator(CellStore &cells, const PlanProblem &problem)
    : problem(problem),
      frontier(cells, problem.request,
               {problem.limits.searchesPlacements,
                /*keepsDominated=*/false, problem.pins[&Decisions::tp].has_value()}) {}

void PlanEnumerator::visit(OutlineVisitor visitor) {
  const SpaceLimits &limits = problem.limits;
  const Pins &pins = problem.pins;
  const int64_t mostChunks = limits.layers + 2; // embedding and head have one each
  Decisions d;
  for (d.dp = 1; d.dp <= limits.devices; ++d.dp)
    for (d.pp = 1; d.pp <= std::min(limits.devices, mostChunks); ++d.pp)
      for (d.cp = 1; d.cp <= limits.devices; ++d.cp)
        for (d.tp = 1; d.tp <= limits.devices; ++d.tp) {
          bool isCut = d.cp > 1;
          if (d.devices() != limits.devices || limits.globalBatch % d.dp != 0 ||
              (isCut && (limits.sequence % (2 * d.cp) != 0 || limits.sequence / d.cp < 512)) ||
              !allows(pins[&Decisions::tp], d.tp) || !allows(pins[&Decisions::pp], d.pp) ||
              !allows(pins[&Decisions::dp], d.dp))
            continue;
          visitExperts(d, visitor);
        }
}

// Visits experts that are split over tensor parallelism and spread among the ranks of dp and cp,
// and experts that are whole and spread among all ranks of a stage.
void PlanEnumerator::visitExperts(Decisions d, OutlineVisitor visitor) {
  const SpaceLimits &limits = problem.limits;
  bool mayFold = limits.experts > 1 && d.tp > 1 && limits.tokenGroups % d.tp == 0;
  for (int64_t ranks : {d.dp * d.cp, d.dp * d.cp * d.tp}) {
    d.foldedExperts = ranks > d.dp * d.cp;
    if (d.foldedExperts ? !mayFold : ranks != d.dp * d.cp)
      continue;
    for (d.ep = 1; d.ep <= ranks; ++d.ep)
      if (ranks % d.ep == 0 && limits.experts % d.ep == 0)
        visitMesh(d, visitor);
    if (d.tp == 1)
      break;
  }
}

void PlanEnumerator::visitMesh(Decisions d, OutlineVisitor visitor) {
  const SpaceLimits &limits = problem.limits;
  int64_t samples = limits.globalBatch / d.dp;
  for (d.microBatch = 1; d.microBatch <= 32; ++d.microBatch) {
    if (samples % d.microBatch != 0 || !allows(problem.pins[&Decisions::microBatch], d.microBatch))
      continue;
    d.numMicroBatches = samples / d.microBatch;
    for (bool sp : {false, true}) {
      d.sequenceParallel = sp;
      if (!sp && d.foldedExperts)
        continue;
      if (sp && (d.tp == 1 || limits.sequence % (d.tp * d.cp) != 0))
        continue;
      std::set<std::string> seen;
      for (const char *order : {"tcdp", "tcpd", "tdcp", "tpcd", "ctdp", "dtcp", "ptcd"}) {
        bool stagesAreOutside = d.pp == 1 || order[3] == 'p';
        if ((!limits.groups.empty() && !stagesAreOutside) || !seen.insert(namesOf(d, order)).second)
          continue;
        std::copy_n(order, 4, d.order.begin());
        visitContexts(d, visitor);
      }
    }
  }
}

// Visits a ring; swaps of parts of the sequence for key heads, by all of cp or by groups that form
// a ring; and the gather of all keys.
void PlanEnumerator::visitContexts(Decisions d, OutlineVisitor visitor) {
  const SpaceLimits &limits = problem.limits;
  for (ContextKind kind :
       {ContextKind::Ring, ContextKind::AllToAll, ContextKind::Both, ContextKind::AllGather})
    for (int64_t swapping = 1; swapping <= d.cp; ++swapping) {
      bool isOne = kind == ContextKind::Ring || kind == ContextKind::AllGather;
      bool isAll = kind == ContextKind::AllToAll;
      bool divides =
          swapping == 1 || (limits.kvHeads > 0 && limits.kvHeads % (d.tp * swapping) == 0);
      bool isChoice = d.cp == 1 ? kind == ContextKind::Ring
                      : isOne   ? swapping == 1
                      : isAll   ? swapping == d.cp
                                : swapping > 1 && swapping < d.cp && d.cp % swapping == 0;
      if (!isChoice || !divides)
        continue;
      d.contextKind = kind;
      d.contextInner = kind == ContextKind::Both ? swapping : 1;
      // Two groups of a system can be visited from either end.
      int ways = !limits.groups.empty() && d.pp > 1 ? 2 : 1;
      for (d.partOrder = 0; d.partOrder < ways; ++d.partOrder)
        visitParts(d, visitor);
      d.partOrder = 0;
    }
}

// Visits two groups that split tensors as the mesh does. Then one of them has fewer ranks for it,
// and more replicas with a smaller share of a micro-batch, which is still whole samples.
void PlanEnumerator::visitParts(Decisions d, OutlineVisitor visitor) {
  visitPlaced(d, visitor);
  const std::vector<DeviceGroup> &parts = problem.limits.groups;
  int64_t devicesOfStage = d.tp * d.cp * d.dp;
  bool isFree = !problem.pins[&Decisions::tp] && !problem.pins[&Decisions::dp] &&
                !problem.pins[&Decisions::microBatch];
  if (d.pp == 1 || parts.size() != 2 || !isFree ||
      llvm::any_of(parts, [&](auto &part) { return part.numDevices % devicesOfStage != 0; }))
    return;
  for (size_t part : {0, 1})
    for (int64_t fewer = 1; fewer < d.tp; ++fewer) {
      bool isWhole = d.tp % fewer == 0 && d.microBatch * fewer % d.tp == 0;
      d.tensorOfParts[part] = static_cast<int16_t>(fewer);
      d.tensorOfParts[1 - part] = static_cast<int16_t>(d.tp);
      if (isWhole)
        visitPlaced(d, visitor);
    }
}

const ModelCells &PlanEnumerator::appliedOf(const ModelCells &cells) {
  const EstimateRequest &request = problem.request;
  auto [known, isNew] = applied.try_emplace(&cells);
  if (isNew)
    known->second = applyStack(cells, *request.software, request.precision.compute);
  return known->second;
}

void PlanEnumerator::visitPlaced(const Decisions &mesh, OutlineVisitor visitor) {
  const EstimateRequest &request = problem.request;
  Decisions d = mesh;
  for (const PlacementPoint *point : frontier.of(d.tp, d.sequenceParallel, d.foldedExperts)) {
    const ModelCells &cells = appliedOf(point->cells);
    ModelCost model = costModel(
        cells, d, *request.topology, request.precision,
        /*known=*/nullptr, [&](const Decisions &part) -> const ModelCells & {
          return appliedOf(
              frontier.of(part.tp, part.sequenceParallel, part.foldedExperts).front()->cells);
        });
    visitSchedules(model, d, visitor);
    ++d.placement;
    if (d.hasUnevenTensor()) // only Megatron's placements, which are the first
      break;
  }
}

void PlanEnumerator::visitSchedules(const ModelCost &model, const Decisions &mesh,
                                    OutlineVisitor visitor) const {
  Decisions d = mesh;
  for (ScheduleKind kind :
       {ScheduleKind::GPipe, ScheduleKind::OneForwardOneBackward, ScheduleKind::Interleaved,
        ScheduleKind::ZeroBubbleH1, ScheduleKind::ZeroBubbleV, ScheduleKind::ZeroBubble2P,
        ScheduleKind::VHalf, ScheduleKind::VMin})
    for (int64_t v = 1; v <= 12; ++v) {
      bool isAny =
          d.pp == 1 && v == 1 && kind == ScheduleKind::OneForwardOneBackward &&
          !(problem.pins[&Decisions::schedule] && turnsBack(*problem.pins[&Decisions::schedule]));
      bool hasChunks = kind == ScheduleKind::Interleaved
                           ? v >= 2 || problem.pins[&Decisions::schedule]
                       : turnsBack(kind) ? v == 2
                                         : v == 1;
      bool isChoice = d.pp > 1 && hasChunks && (v == 1 || d.pp * v <= problem.limits.layers + 2) &&
                      allows(problem.pins, kind);
      if (!isAny && !isChoice)
        continue;
      d.schedule =
          isAny && problem.pins[&Decisions::schedule] ? *problem.pins[&Decisions::schedule] : kind;
      d.virtualStages = v;
      visitMemory(model, d, visitor);
    }
}

void PlanEnumerator::visitMemory(const ModelCost &model, Decisions d,
                                 OutlineVisitor visitor) const {
  for (d.zero = 0; d.zero <= 3; ++d.zero) {
    bool isChoice = d.zero == 0 || replicas(d) > 1 || problem.pins[&Decisions::zero];
    if (!isChoice || !allows(problem.pins[&Decisions::zero], d.zero))
      continue;
    bool hasPasses =
        d.pp > 1 && d.zero < 2 && problem.limits.untied && problem.limits.groups.empty() &&
        (d.schedule == ScheduleKind::OneForwardOneBackward || d.schedule == ScheduleKind::VHalf);
    for (int64_t algorithm : {0, 1, 2})
      for (int64_t group : zeroGroups(d))
        for (bool offload : {false, true}) {
          d.vocabOverPp = algorithm;
          d.zeroGroup = group;
          d.offloadOptimizer = offload;
          d.layersOnHost = problem.pins[&Decisions::layersOnHost] ? LayersOnHost::All
                           : problem.limits.mayOffloadActivations ? LayersOnHost::Some
                                                                  : LayersOnHost::None;
          bool mayDivide = algorithm == 0 || hasPasses;
          if (mayDivide && allows(problem.pins[&Decisions::vocabOverPp], algorithm) &&
              (!offload || problem.limits.mayOffload))
            visitor(model, d);
        }
    d.vocabOverPp = 0;
  }
}

// Returns the sizes of groups of ZeRO, device by device: the ranks of cp and dp that hold copies of
// device 0's parameters, and those that shard them together. Groups are the same number of ranks of
// dp, with all of cp. All of them hold whole groups of experts, and lie along both axes as the
// first group does.
std::vector<int64_t> PlanEnumerator::zeroGroups(const Decisions &d) {
  std::vector<int64_t> groups{0};
  if (d.zero == 0)
    return groups;
  std::vector<std::pair<int64_t, int64_t>> replicas;
  for (int64_t device = 0; device < d.devices(); ++device) {
    int64_t left = device;
    std::map<char, int64_t> ranks;
    for (char axis : d.order) {
      ranks[axis] = left % d.sizeOf(axis);
      left /= d.sizeOf(axis);
    }
    if (ranks['t'] == 0 && ranks['p'] == 0)
      replicas.emplace_back(ranks['c'], ranks['d']);
  }
  for (int64_t ranks = 2; ranks < d.dp; ++ranks) {
    auto size = static_cast<size_t>(ranks * d.cp);
    int64_t ofExperts = (d.foldedExperts ? d.tp : 1) * ranks * d.cp;
    if (d.dp % ranks != 0 || ofExperts % d.ep != 0)
      continue;
    bool areEqual = true;
    for (size_t index = 0; index < replicas.size(); ++index) {
      auto [cp, dp] = replicas[index];
      auto [firstCp, firstDp] = replicas[index - index % size];
      areEqual &= std::pair(cp - firstCp, dp - firstDp) == replicas[index % size];
    }
    if (areEqual)
      groups.push_back(ranks);
  }
  return groups;
}

std::vector<std::pair<Recompute, Recompute>> searchedRecomputation(const Pins &pins) {
  if (pins[&Decisions::recompute])
    return {{*pins[&Decisions::recompute], *pins[&Decisions::recompute]}};
  return {{Recompute::None, Recompute::Full},
          {Recompute::Selective, Recompute::Full},
          {Recompute::Full, Recompute::Full}};
}

static std::vector<LayerChunks> cutsOf(int64_t layers, int64_t chunks, bool mayBeginEmpty,
                                       bool mayEndEmpty) {
  if (chunks == 1)
    return {{{0, layers - 1}}};
  std::vector<LayerChunks> cuts;
  for (int64_t first = chunks - 1 - mayBeginEmpty; first < layers + mayEndEmpty;
       ++first) // first layer of the last run
    for (LayerChunks &cut : cutsOf(first, chunks - 1, mayBeginEmpty, false)) {
      cut.emplace_back(first, layers - 1);
      cuts.push_back(std::move(cut));
    }
  return cuts;
}

std::vector<LayerChunks> everyCut(int64_t layers, int64_t chunks) {
  return cutsOf(layers, chunks, chunks > layers, true);
}

std::vector<Recompute> waysToRecompute(const ModelCost &model) {
  auto keptBy = [](const BlockCost &block, Recompute how) {
    return how == Recompute::None        ? block.kept
           : how == Recompute::Selective ? block.keptSelective
           : how == Recompute::Full      ? block.input
                                         : block.partial[partialIndex(how)].kept;
  };
  auto sent = [](const AgainCollectives &c) { return std::tuple(c.tp, c.cp, c.heads, c.ep); };
  auto isSame = [&](Recompute a, Recompute b) {
    return isPartial(a) && isPartial(b) && llvm::all_of(model.blocks, [&](const BlockCost &block) {
             const PartialCost &one = block.partial[partialIndex(a)],
                               &other = block.partial[partialIndex(b)];
             return keptBy(block, a) == keptBy(block, b) && one.compute == other.compute &&
                    sent(one.collectives) == sent(other.collectives);
           });
  };
  std::vector<Recompute> ways;
  for (auto [low, high] : model.cells->recomputeMixes)
    for (Recompute how : {low, high})
      if (!llvm::is_contained(ways, how) &&
          llvm::none_of(ways, [&](Recompute other) { return isSame(how, other); }))
        ways.push_back(how);
  return ways;
}

std::vector<std::vector<LayerWay>> everyChoice(const LayerChunks &cut, llvm::ArrayRef<int> chain,
                                               llvm::ArrayRef<LayerWay> ways) {
  auto isAfter = [](LayerWay a, LayerWay b) {
    return std::pair(a.isOnHost, a.recompute) <= std::pair(b.isOnHost, b.recompute);
  };
  std::vector<std::vector<LayerWay>> all{{}};
  for (auto [first, last] : cut)
    for (int64_t layer = first; layer <= last; ++layer) {
      std::vector<std::vector<LayerWay>> longer;
      bool isEqual = layer > first &&
                     chain[static_cast<size_t>(layer)] == chain[static_cast<size_t>(layer) - 1];
      for (const std::vector<LayerWay> &some : all)
        for (LayerWay next : ways)
          if (!isEqual || isAfter(next, some.back())) {
            longer.push_back(some);
            longer.back().push_back(next);
          }
      all = std::move(longer);
    }
  return all;
}

// Returns true if the buckets may be used. Buckets of gradients that every micro-batch sends end
// with a layer: none is smaller than a layer, and none is for all.
bool OutlinedPlans::mayTravelIn(int64_t bucket) const {
  const std::vector<int64_t> &sizes = request.bucketSizes;
  bool isLayerByLayer = outline.zero >= 2 && replicas(outline) > 1;
  if (!isLayerByLayer || sizes.size() == 1)
    return true;
  int64_t largest = 0; // the largest one with a size
  for (int64_t size : sizes)
    if (size != kOneBucket)
      largest = std::max(largest, size);
  double layer = 0,
         wide = std::max(request.precision.parameterBytes, request.precision.reduceBytes);
  auto add = [&](const ModelCost &cost) {
    for (const BlockCost &block : cost.blocks)
      layer = std::max(layer, (block.denseParameters + block.expertParameters) * wide);
  };
  for (size_t kind = 0; kind < model.kinds.size(); ++kind) // kinds that have gradients to send
    if (replicas(outline.onPart(model.devices.whereOfKind[kind].first)) > 1)
      add(model.kinds[kind]);
  if (model.kinds.empty())
    add(model);
  return bucket != kOneBucket && (bucket == largest || static_cast<double>(bucket) >= layer);
}

std::vector<std::unique_ptr<OutlinedPlans::Coster>> &OutlinedPlans::costersOf(Recompute least) {
  std::vector<std::unique_ptr<Coster>> &list = costers[least];
  Decisions d = outline;
  d.recompute = d.recomputeMost = least;
  if (list.empty())
    for (int64_t bucket : request.bucketSizes)
      if (mayTravelIn(bucket))
        list.push_back(std::make_unique<Coster>(model, d, request, bucket));
  return list;
}

static Recompute leastOf(llvm::ArrayRef<LayerWay> ways) {
  Recompute least = Recompute::Full;
  for (LayerWay way : ways)
    least = std::min(least, way.recompute);
  return least;
}

OutlinedPlans::Plan OutlinedPlans::planOf(const LayerChunks &cut, llvm::ArrayRef<LayerWay> ways) {
  const StageInputs &in = costersOf(leastOf(ways)).front()->stages;
  Plan plan;
  plan.stages = stagesOfCut(in, cut, ways);
  for (auto [index, stage] : llvm::enumerate(plan.stages)) {
    plan.slowest = std::max(plan.slowest, stage.microBatch());
    plan.fits &= stage.memory.total() <= stage.memoryLimit;
    if (outline.offloadOptimizer || stage.offloadedLayers > 0) {
      double limit = hostLimitOf(in, index, stage);
      plan.fits &= limit > 0 && stage.hostBytes <= limit;
    }
  }
  return plan;
}

double OutlinedPlans::secondsOnce(const LayerChunks &cut, llvm::ArrayRef<LayerWay> ways) {
  double least = kInfinity;
  for (std::unique_ptr<Coster> &each : costersOf(leastOf(ways))) {
    double gradients = 0, update = 0;
    for (const StageEstimate &stage : stagesOfCut(each->stages, cut, ways)) {
      gradients = std::max(gradients, stage.exposedGradientSeconds);
      update = std::max(update, stage.optimizerSeconds);
    }
    least = std::min(least, gradients + update);
  }
  return least;
}

PipelineProblem OutlinedPlans::pipelineOf(llvm::ArrayRef<StageEstimate> stages) const {
  PipelineProblem pipeline;
  pipeline.kind = outline.schedule;
  pipeline.stages = static_cast<int>(outline.pp);
  pipeline.virtualStages = static_cast<int>(outline.virtualStages);
  pipeline.microBatches = static_cast<int>(outline.numMicroBatches);
  // The chunks go down through the stages, and each further chunk goes down again or, in a V, up.
  for (size_t turn = 0; turn < static_cast<size_t>(outline.virtualStages); ++turn)
    for (size_t index = 0; index < stages.size(); ++index) {
      bool isUp = turnsBack(outline.schedule) && turn == 1;
      pipeline.chunks.push_back(stages[isUp ? stages.size() - 1 - index : index].chunkTimes[turn]);
    }
  addSendSeconds(pipeline, model.transferSeconds, model.transfers);
  return pipeline;
}

// Returns the seconds of the loop. All stages stop for passes over the vocabulary, whose
// collectives run beside them and layers, except for those of the first micro-batch.
// VocabularyPassesTest has the passes one by one.
double OutlinedPlans::loopSeconds(llvm::ArrayRef<StageEstimate> stages) const {
  double seconds = simulatedSeconds(pipelineOf(stages));
  if (outline.vocabOverPp == 0)
    return seconds;
  double collectives = model.vocabulary->collectives, most = 0;
  for (const StageEstimate &stage : stages)
    most = std::max(most, stage.microBatch() + stage.vocabularySeconds);
  return seconds + collectives +
         static_cast<double>(outline.numMicroBatches) *
             (stages.front().vocabularySeconds + std::max(0.0, collectives - most));
}

SweptPlans sweep(const ModelCost &model, const Decisions &outline, const EstimateRequest &request) {
  SweptPlans swept;
  swept.least.fill(kInfinity);
  swept.leastFitting = kInfinity;
  OutlinedPlans plans(model, outline, request);
  llvm::ArrayRef<int> chain = model.cells->chain;
  std::vector<LayerWay> all;
  for (Recompute how : waysToRecompute(model)) {
    all.push_back({how});
    if (outline.layersOnHost == LayersOnHost::Some &&
        model.cells->hostRecomputes[static_cast<size_t>(how)])
      all.push_back({how, /*isOnHost=*/true});
  }
  for (const LayerChunks &cut :
       everyCut(static_cast<int64_t>(chain.size()), outline.pp * outline.virtualStages))
    for (const std::vector<LayerWay> &ways : everyChoice(cut, chain, all)) {
      ++swept.plans;
      OutlinedPlans::Plan plan = plans.planOf(cut, ways);
      double &least = swept.least[static_cast<size_t>(leastOf(ways))];
      // A plan may be too slow whatever its pipeline is.
      auto isSlow = [&](double seconds) {
        return seconds >= least && (!plan.fits || seconds >= swept.leastFitting);
      };
      if (isSlow(plans.leastLoopSeconds(plan)))
        continue;
      double once = plans.secondsOnce(cut, ways);
      if (isSlow(plans.leastLoopSeconds(plan) + once))
        continue;
      double seconds = plans.loopSeconds(plan.stages) + once;
      least = std::min(least, seconds);
      if (plan.fits && seconds < swept.leastFitting) {
        swept.leastFitting = seconds;
        swept.cut = cut;
        swept.ways = ways;
      }
    }
  // More recomputation includes less.
  for (Recompute less : llvm::reverse(kRecomputes))
    for (Recompute more : kRecomputes)
      if (isPartOf(less, more))
        swept.least[static_cast<size_t>(less)] = std::min(swept.least[static_cast<size_t>(less)],
                                                          swept.least[static_cast<size_t>(more)]);
  return swept;
}

} // namespace dtc
