// The ops and collectives behind a plan.
#include "compiler/show/explain/CostedPlan.h"

#include "compiler/decide/decisions/Experts.h"
#include "compiler/decide/plan/PlacementText.h"
#include "compiler/describe/stack/LoadStack.h"
#include "compiler/price/cost/CollectiveCost.h"
#include "compiler/price/cost/OpCost.h"
#include "compiler/price/workload/ApplyStack.h"
#include "compiler/price/workload/ModelFacts.h"
#include "compiler/price/workload/VocabularyShare.h"
#include "compiler/search/planner/PlacementSearch.h"
#include "compiler/show/explain/TensorGroups.h"
#include "compiler/support/Diagnostics.h"
#include "passes/shard/StepMesh.h"

#include "llvm/ADT/STLExtras.h"

namespace dtc {
namespace {

Status checkModel(const Plan &plan, const ModelFacts &facts, const Topology &topology) {
  auto differs = [&](const std::string &what, int64_t plans, int64_t found) {
    return UserError("explaining the plan: it was made for " + what + " " + std::to_string(plans) +
                         ", found " + std::to_string(found),
                     "give the model and topology that it was made for, or plan again");
  };
  if (facts.sequenceLength != plan.sequenceLength)
    return differs("sequence length", plan.sequenceLength, facts.sequenceLength);
  if (facts.parameters != plan.parameters)
    return differs("a number of parameters of", plan.parameters, facts.parameters);
  if (facts.frozen != plan.frozenParameters)
    return differs("a number of frozen parameters of", plan.frozenParameters, facts.frozen);
  if (!plan.modelShape.empty() && facts.shape != plan.modelShape)
    return UserError("explaining the plan: it was made for a model of other ops or shapes",
                     "give the model that it was made for, or plan again");
  if (topology.numDevices() != plan.devices)
    return differs("a number of devices of", plan.devices, topology.numDevices());
  return {};
}

// Returns the recomputation modes that repeat an op.
std::bitset<kNumRecomputes> runsAgain(bool selectively, const RecomputeSet &partially, bool fully) {
  std::bitset<kNumRecomputes> ways;
  ways[static_cast<size_t>(Recompute::Selective)] = selectively;
  for (size_t partial = 0; partial < kNumPartials; ++partial)
    ways[static_cast<size_t>(partialAt(partial))] = partially[partial];
  ways[static_cast<size_t>(Recompute::Full)] = fully;
  return ways;
}

CostedOp costedOp(const BlockCell &cell, size_t index, bool isLayer, const CellScale &scale,
                  const CostedPlan &costed) {
  const CellOp &op = cell.ops[index];
  CostedOp result;
  result.name = op.name;
  result.parameter = isLayer ? layerPattern(op.parameter) : op.parameter;
  result.phase = op.phase;
  result.joined = op.joined;
  auto isIn = [&](llvm::ArrayRef<int> list) {
    return llvm::is_contained(list, static_cast<int>(index));
  };
  if (isLayer && op.phase == CellPhase::Forward)
    result.runsAgain = runsAgain(isIn(cell.selectiveOps), op.runsAgain, !isIn(cell.unreadOps));
  OpCosting costing = costOp(op, scale, costed.topology, costed.precision);
  result.work = costing.work;
  result.seconds = costing.seconds;
  result.softwareShare = op.rateShare;
  result.terms = explainOp(costing.work, costed.topology.device, op.launch);
  result.terms.computeSeconds /= costing.sustained;
  result.terms.sustained *= costing.sustained;
  return result;
}

CostedCollective costedCollective(const BlockCell &cell, const CellCollective &collective,
                                  bool isLayer, const CellScale &scale, const CostedPlan &costed) {
  CostedCollective result;
  result.kind = collective.kind;
  result.phase = collective.phase;
  result.of = collective.of;
  if (isLayer && collective.phase == CellPhase::Forward)
    result.runsAgain = runsAgain(runsAgainSelectively(cell, collective), collective.runsAgain,
                                 !collective.isUnread);
  bool isTp = collective.axis == CellAxis::Tp, isCp = collective.axis == CellAxis::Cp;
  bool isDp = collective.axis == CellAxis::Dp;
  result.axis = isTp ? "tp" : isCp ? "cp" : isDp ? "dp" : "ep";
  result.exposedShare = 1 - hiddenShareOf(collective, costed.overlap);
  result.ranks = groupOf(collective, costed.groups);
  result.bytes =
      collectiveBytes(collective, scale, costed.groups, costed.topology, costed.precision);
  result.choice = explainCollective(collective.kind, result.bytes, result.ranks, costed.topology);
  return result;
}

CostedPart::Gather gatherOf(const Amount &elements, const CellScale &scale) {
  CostedPart::Gather gather;
  for (size_t bits = 0; bits < numScaleSets; ++bits)
    (bits & ScalesWithExperts ? gather.expert : gather.dense) +=
        elements.parts[bits] * scale.factor(static_cast<uint8_t>(bits));
  return gather;
}

CostedPart costedPart(const BlockCell &cell, std::string name, bool isLayer, const CellScale &scale,
                      const CostedPlan &costed) {
  CostedPart part;
  part.name = std::move(name);
  part.isLayer = isLayer;
  for (size_t index = 0; index < cell.ops.size(); ++index)
    part.ops.push_back(costedOp(cell, index, isLayer, scale, costed));
  for (const CellCollective &collective : cell.collectives) {
    CostedCollective result = costedCollective(cell, collective, isLayer, scale, costed);
    if (result.choice.seconds > 0)
      part.collectives.push_back(result);
  }
  ParameterCounts parameters = parametersOf(cell, scale);
  part.denseParameters = parameters.dense;
  part.expertParameters = parameters.expert;
  part.frozenDense = parameters.frozenDense;
  part.frozenExpert = parameters.frozenExpert;
  part.sharedGradients = cell.sharedGradients.at(scale);
  part.gatheredForward = gatherOf(cell.gatheredForward, scale);
  for (Recompute recompute : kRecomputes)
    part.gatheredBackward[static_cast<size_t>(recompute)] =
        gatherOf(recompute == Recompute::Full ? cell.gatheredFull
                 : isPartial(recompute)       ? cell.gatheredPartial[partialIndex(recompute)]
                                              : cell.gatheredBackward,
                 scale);
  OpWork accumulation = accumulationOf(part.denseParameters + part.expertParameters, cell);
  if (accumulation.bytes > 0) {
    const DeviceKind &device = costed.topology.device;
    CostedOp op;
    op.name = "accumulate_gradients";
    op.phase = CellPhase::BackwardWeight;
    op.work = accumulation;
    op.seconds = secondsOf(accumulation, device, cell.launch);
    op.terms = explainOp(accumulation, device, cell.launch);
    part.ops.push_back(op);
  }
  return part;
}

// Returns the share of each stage in a divided vocabulary. Its collectives are on a stream of their
// own.
CostedPart costedVocabulary(const VocabularyCells &cells, CellScale scale, int64_t stages,
                            const CostedPlan &costed) {
  double activationShare = costed.precision.activationShare;
  std::vector<VocabularyCollective> between = vocabularyCollectives(cells, scale, activationShare);
  scale.vocabulary = static_cast<double>(stages);
  CostedPart part = costedPart(cells.share, "vocabulary", false, scale, costed);
  part.isOnEveryStage = true;
  for (const VocabularyCollective &each : between) {
    CostedCollective collective;
    collective.axis = "pp";
    collective.kind = each.kind;
    collective.phase = each.phase;
    collective.bytes = each.bytes;
    collective.count = each.count;
    collective.exposedShare = 0;
    collective.choice = explainCollective(each.kind, each.bytes, costed.groups.pp, costed.topology);
    part.collectives.push_back(collective);
  }
  return part;
}

// The devices of one stage, where they are not like all others and follow one another.
Topology topologyOf(const Plan &plan, const Topology &topology, size_t stage) {
  if (topology.isUniform() || stage >= plan.stages.size() || plan.stages[stage].ranks.empty())
    return topology;
  const std::vector<int64_t> &ranks = plan.stages[stage].ranks;
  int64_t count = static_cast<int64_t>(ranks.size());
  bool isRun = ranks.back() - ranks.front() + 1 == count;
  return isRun && count < topology.numDevices() ? topology.slice(ranks.front(), count) : topology;
}

bool holdsLayer(const PlanStage &stage, int64_t layer) {
  return llvm::any_of(stage.chunks, [&](const std::pair<int64_t, int64_t> &chunk) {
    return chunk.first <= layer && layer <= chunk.second;
  });
}

// Returns the recomputation of a layer of the stage; plans list them in the order of the stage's
// layers.
std::string recomputeOf(const PlanStage &stage, int64_t layer) {
  size_t index = 0;
  for (auto [first, last] : stage.chunks)
    for (int64_t each = first; each <= last; ++each, ++index)
      if (each == layer)
        return index < stage.recompute.size() ? stage.recompute[index] : "none";
  return "none";
}

} // namespace

Plan planOfStage(Plan plan, const Topology &topology, size_t stage) {
  if (!plan.decisions.hasUnevenTensor() || stage >= plan.stages.size() ||
      plan.stages[stage].ranks.empty())
    return plan;
  int64_t rank = plan.stages[stage].ranks.front();
  auto group = llvm::find_if(topology.groups, [&](const DeviceGroup &each) {
    return each.firstDevice <= rank && rank < each.firstDevice + each.numDevices;
  });
  plan.decisions = plan.decisions.onPart(static_cast<size_t>(group - topology.groups.begin()));
  return plan;
}

// Under the placements that the plan says, where it says them. Nothing after a diagnostic.
static std::optional<ModelCells> readCellsOf(const Plan &plan, const FoldedModel &folded,
                                             const SoftwareStack &software) {
  auto [tp, sequenceParallel, foldsExperts] = TensorSplit::of(plan.decisions);
  RowExchange exchange =
      software.runsPrograms ? rowExchangeOf(folded, plan.decisions) : RowExchange();
  if (plan.opSplits.empty() && tp == 1)
    return readCells(folded, tp, sequenceParallel, SearchedPlacements(), foldsExperts, exchange);
  if (plan.opSplits.empty())
    return readCells(folded, tp, sequenceParallel, foldsExperts, patternOf(software));
  SearchedPlacements placements{plan.opSplits, {}}; // parameters follow
  mlir::ModuleOp module = *folded.module;
  size_t numAxes = stepMesh(module, {.tp = tp}).axesOf(AxisRole::Tensor).size();
  for (auto parameter : module.getOps<graph::ParameterOp>()) {
    std::string name = parameter.getSymName().str();
    auto tensor = plan.tensors.find(parameter.getMemberNames().front());
    if (tensor == plan.tensors.end() || !tensor->second.count("tp"))
      continue;
    const std::string &text = tensor->second.at("tp");
    int64_t numDims = mlir::cast<mlir::RankedTensorType>(parameter.getType()).getRank();
    std::optional<llvm::SmallVector<int64_t, 2>> dims = placementDimsOf(text, numAxes);
    if (!dims || llvm::any_of(*dims, [&](int64_t dim) { return dim >= numDims; })) {
      parameter.emitError() << "parameter '" << name << "' is placed '" << text
                            << "' on axis 'tp' by the plan; wanted replicate or shard(DIM) with "
                               "DIM below "
                            << numDims;
      return std::nullopt;
    }
    placements.parameters[name].assign(dims->begin(), dims->end());
  }
  return readCells(folded, tp, sequenceParallel, placements, foldsExperts, exchange);
}

Result<CostedPlan> costPlan(const Plan &plan, mlir::ModuleOp model, const Topology &topology,
                            size_t stage) {
  if (Status checked = checkModel(plan, readModelFacts(model), topology); !checked)
    return checked.error();
  CostedPlan costed;
  costed.topology = topologyOf(plan, topology, stage);
  const Decisions &d = plan.decisions;
  costed.groups = groupsOf(d);
  Result<SoftwareStack> software = loadStackFor(plan.origin.software, topology.device);
  if (!software)
    return software.error();
  costed.precision = cellPrecision(plan.precision, plan.trainedBy(), *software);
  // Plans of older versions have the flag alone, which was f32 if it was not given.
  if (plan.gradients)
    setReduction(plan.gradients->reducedIn, costed.precision);
  else if (plan.origin.gradDtype != GradientType::F32)
    setReduction(plan.origin.gradDtype, costed.precision);
  FoldedModel folded = foldFor(model, plan.precision);
  DiagnosticCapture capture(model.getContext());
  std::optional<ModelCells> cells = readCellsOf(plan, folded, *software);
  if (!cells)
    return capture.errorOr(UserError("explaining the plan: its model can't be partitioned"));
  cells = applyStack(std::move(*cells), *software, costed.precision.compute);
  costed.overlap = overlapOf(*cells, costed.groups, topology);
  CellScale scale{static_cast<double>(d.microBatch), static_cast<double>(d.cp),
                  static_cast<double>(d.ep)};
  costed.tiedParameters = cells->tied.at(scale);
  if (!cells->blocks.empty())
    costed.transferBytes = cells->blocks.front().input.at(scale) * costed.precision.activationShare;
  std::optional<VocabularyCells> divided;
  if (d.dividesVocabulary())
    divided = divideVocabulary(*cells);
  const BlockCell &embedding = divided ? divided->embedding : cells->embedding;
  const BlockCell &head = divided ? divided->head : cells->head;
  costed.parts.push_back(costedPart(embedding, "embedding", false, scale, costed));
  for (size_t block = 0; block < cells->blocks.size(); ++block) {
    std::string name = cells->blocks.size() == 1 ? "layer" : folded.blocks[block];
    costed.parts.push_back(costedPart(cells->blocks[block], name, true, scale, costed));
    for (size_t layer = 0; layer < cells->chain.size(); ++layer)
      if (cells->chain[layer] == static_cast<int>(block))
        costed.parts.back().layers.push_back(static_cast<int64_t>(layer));
  }
  costed.parts.push_back(costedPart(head, "head", false, scale, costed));
  costed.parts.back().stage = static_cast<size_t>(stageOfChunk(
      d.schedule, static_cast<int>(d.pp), static_cast<int>(d.pp * d.virtualStages - 1)));
  if (divided)
    costed.parts.push_back(costedVocabulary(*divided, scale, d.pp, costed));
  if (!software->runsPrograms) // other software gathers whole units, whatever a pass reads of them
    for (CostedPart &part : costed.parts) {
      part.gatheredForward = {part.denseParameters + part.frozenDense,
                              part.expertParameters + part.frozenExpert};
      part.gatheredBackward.fill(part.gatheredForward);
    }
  return costed;
}

int64_t layersOn(const CostedPart &part, const Plan &plan, size_t stage) {
  if (!part.isLayer)
    return part.isOnEveryStage || part.stage == stage ? 1 : 0;
  return llvm::count_if(part.layers,
                        [&](int64_t layer) { return holdsLayer(plan.stages[stage], layer); });
}

int64_t layersThat(Recompute recompute, const CostedPart &part, const Plan &plan, size_t stage) {
  return llvm::count_if(part.layers, [&](int64_t layer) {
    return holdsLayer(plan.stages[stage], layer) &&
           recomputeOf(plan.stages[stage], layer) == toString(recompute);
  });
}

double partRunsOf(const CostedPart &part, const Plan &plan, size_t stage) {
  return static_cast<double>(plan.decisions.numMicroBatches * layersOn(part, plan, stage));
}

double runsOf(const CostedPart &part, std::bitset<kNumRecomputes> runsAgain, const Plan &plan,
              size_t stage) {
  int64_t again = 0;
  for (Recompute recompute : kRecomputes)
    if (runsAgain[static_cast<size_t>(recompute)])
      again += layersThat(recompute, part, plan, stage);
  return partRunsOf(part, plan, stage) +
         static_cast<double>(plan.decisions.numMicroBatches * again);
}

} // namespace dtc
