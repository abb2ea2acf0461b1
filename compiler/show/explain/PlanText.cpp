// The plan for people.
#include "compiler/show/explain/PlanText.h"

#include "compiler/decide/decisions/Words.h"
#include "compiler/decide/plan/Executable.h"
#include "compiler/describe/stack/SoftwareStack.h"
#include "compiler/show/explain/CutRows.h"
#include "compiler/show/explain/Figures.h"
#include "compiler/show/explain/Runners.h"
#include "compiler/show/explain/StageRows.h"
#include "compiler/support/Table.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"

namespace dtc {
namespace {

using namespace figures;

constexpr size_t kMostRunners = 5, kMostLeaner = 4;
constexpr double kMostSlower = 0.25;

// Returns the part of the limit that the plan may use.
int64_t usableOf(const Plan &plan, int64_t limit) {
  return plan.predicted.usableMemoryBytes > 0 ? plan.predicted.usableMemoryBytes : limit;
}

// "the first 20 of 80 layers", "all layers"; of several stages how many of each.
std::string offloadedLayers(const Plan &plan) {
  if (plan.decisions.offloadsAllLayers())
    return "all layers";
  std::vector<int64_t> counts;
  int64_t layers = 0;
  for (const PlanStage &stage : plan.stages) {
    counts.push_back(stage.offloadedLayers);
    layers += static_cast<int64_t>(stage.recompute.size());
  }
  return "the first " + sumText(counts) + " of " + counted(layers, "layer");
}

// "tp 1, dp 8 with micro-batches of 1 sample; tp 8".
std::string tensorByPart(const Decisions &d) {
  std::string text;
  for (int64_t ranks : d.tensorOfParts) {
    if (ranks == 0)
      continue;
    text += (text.empty() ? "tp " : "; tp ") + std::to_string(ranks);
    if (int64_t times = d.tp / ranks; times > 1)
      text += ", dp " + std::to_string(d.dp * times) + " with micro-batches of " +
              counted(d.microBatch / times, "sample");
  }
  return text;
}

void printChoice(llvm::raw_ostream &out, const Plan &plan, const Topology &topology) {
  out << "plan for " << plan.modelName << " ("
      << llvm::format("%.1f", static_cast<double>(plan.parameters) / 1e6) << " M parameters";
  if (plan.frozenParameters > 0)
    out << ", " << llvm::format("%.1f", static_cast<double>(plan.frozenParameters) / 1e6)
        << " M of them frozen";
  if (plan.sequenceLength > 0)
    out << ", sequence " << plan.sequenceLength;
  out << ") on " << plan.topologyName << ", " << counted(plan.devices, "device") << ", "
      << counted(plan.nodes, "node");
  if (plan.idleNodes > 0)
    out << ", " << plan.idleNodes << " idle";
  out << "\n\n";
  if (std::string idle = idleNodesText(plan); !idle.empty())
    out << "  idle nodes        " << idle << "\n";
  const Decisions &d = plan.decisions;
  out << "  mesh              dp=" << d.dp << " tp=" << d.tp << " pp=" << d.pp << " cp=" << d.cp
      << " ep=" << d.ep << (d.spreadsExperts('t') ? " etp=1\n" : "\n");
  if (d.hasUnevenTensor())
    out << "  tensor by part    " << tensorByPart(d) << "\n";
  if (d.cp > 1)
    out << "  context           " << contextSentence(d) << "\n";
  if (std::string more = figures::expertGatherText(plan); !more.empty())
    out << "  layers of experts " << more << "\n";
  out << "  batch             " << plan.globalBatch << " = " << counted(d.dp, "rank") << " x "
      << counted(d.microBatch, "sample") << " x " << d.numMicroBatches
      << (d.numMicroBatches == 1 ? " micro-batch\n" : " micro-batches\n");
  out << "  sequence parallel " << (d.sequenceParallel ? "yes" : "no") << ", " << zeroText(d)
      << ", recompute " << recomputeText(d) << ", " << nameOf(plan.precision) << ", "
      << nameOf(plan.optimizer)
      << (d.offloadOptimizer ? " with its states in the host's memory" : "") << "\n";
  if (d.pp == 1 && d.mayRecomputeMore() &&
      !plan.stages.empty()) // the table of stages has it for several stages
    out << "  recomputation     of "
        << counted(static_cast<int64_t>(plan.stages[0].recompute.size()), "layer") << " "
        << recomputedLayers(plan.stages[0]) << "\n";
  if (d.offloadsLayers())
    out << "  activations       of " << offloadedLayers(plan) << " in the host's memory\n";
  if (d.lossChunks > 1)
    out << "  loss              in " << d.lossChunks
        << " chunks of the tokens, one after another\n";
  if (d.placement > 0)
    out << "  placements        searched op by op over tp ('op_splits' in the plan's JSON)\n";
  if (d.zero < 3 && d.hasReplicas() && (d.bucketBytes > 0 || !d.overlapGradients))
    out << "  gradients         "
        << (d.overlapGradients
                ? "in buckets of " + bytes(d.bucketBytes) + " beside the backward pass\n"
                : "as a whole after the backward pass\n");
  if (std::string types = gradientTypesText(plan); !types.empty())
    out << "  gradient types    " << types << "\n";
  if (d.pp > 1)
    out << "  pipeline          " << counted(d.pp, "stage") << ", " << toString(d.schedule)
        << (d.virtualStages > 1 ? ", " + counted(d.virtualStages, "virtual stage") : "") << "\n";
  if (d.dividesVocabulary())
    out << "  vocabulary        " << vocabularyText(d) << ": "
        << counted(d.vocabBarriers(), "barrier") << " a micro-batch\n";
  out << "  software          " << plan.origin.software << figures::softwareNote(plan, topology)
      << "\n";
  if (plan.devices > 1)
    out << "  links             " << orderText(d.order) << ", from the innermost out\n";
  out << "\n";
}

void printTime(llvm::raw_ostream &out, const Plan &plan) {
  const PlanPrediction &p = plan.predicted;
  Throughput rate = throughputOf(plan);
  out << "  step              " << seconds(p.stepSeconds) << ", "
      << llvm::format("%.0f", rate.perSecond) << " " << rate.unit << ", "
      << number(p.tflopsPerDevice) << " TFLOP/s a device, MFU " << utilisation(p)
      << (plan.precision == Precision::FP8 ? " of the peak in 8 bits" : "") << "\n";
  if (p.stepHighSeconds > 0)
    out << "                    " << seconds(p.stepLowSeconds) << " to "
        << seconds(p.stepHighSeconds) << " in nine of ten runs, by errors of " << p.basis << "\n";
  Table table({"", "seconds", "share"});
  for (const TimePart &part : timeParts())
    if (double value = p.times.*part.seconds; value > 1e-9 * p.stepSeconds)
      table.addRow({part.name, seconds(value), percent(value, p.stepSeconds)});
  table.print(out, 4);
  out << "\n";
}

void printMemory(llvm::raw_ostream &out, const Plan &plan, int64_t limit) {
  int64_t peak = plan.predicted.peakMemoryBytes;
  out << "  memory a device   " << bytes(peak) << " of " << bytes(limit)
      << (plan.predicted.fits ? "" : "  DOES NOT FIT");
  int64_t usable = usableOf(plan, limit);
  if (plan.predicted.fitProbability < 1 || usable < limit)
    out << fitText(plan);
  if (usable < limit)
    out << "; " << bytes(limit - usable) << " are left free";
  out << "\n";
  Table table({"", "bytes", "share"});
  for (const MemoryPart &part : memoryParts())
    if (int64_t value = plan.predicted.memory.*part.bytes; value > 0)
      table.addRow({part.name, bytes(value),
                    percent(static_cast<double>(value), static_cast<double>(peak))});
  table.print(out, 4);
  if (int64_t host = plan.predicted.hostMemoryBytes; host > 0)
    out << "    and " << bytes(host) << " of the host's memory\n";
  out << "\n";
}

void printStages(llvm::raw_ostream &out, const Plan &plan) {
  if (plan.stages.size() < 2)
    return;
  std::vector<std::string> header{"stage", "layers"};
  llvm::append_range(header, stageColumns());
  Table table(header);
  for (const StageRow &row : foldStages(plan)) {
    std::vector<std::string> cells{row.stages, row.layers};
    llvm::append_range(cells, row.figures);
    table.addRow(cells);
  }
  out << "  stages\n";
  table.print(out, 4);
  out << "\n";
  if (!needsCutTable(plan))
    return;
  Table cut({"stage", "layers of its chunks", "which"});
  for (const CutRow &row : cutRows(plan))
    cut.addRow({row.stages, row.counts, row.layers});
  out << "  cut\n";
  cut.print(out, 4);
  out << "\n";
}

void printOthers(llvm::raw_ostream &out, const PlanResult &planResult) {
  const Plan &best = planResult.best;
  std::vector<const Plan *> runners = runnersUp(planResult, kMostRunners);
  out << "  runners-up of " << best.search.candidates << " candidates\n";
  Table table({"plan", "step", "slower by", "memory", "loses on"});
  auto row = [&](const Plan &plan, const std::string &name, const std::string &why) {
    bool isBest = &plan == &best;
    table.addRow(
        {name, seconds(plan.predicted.stepSeconds),
         isBest ? "" : signedPercent(plan.predicted.stepSeconds / best.predicted.stepSeconds - 1),
         bytes(plan.predicted.peakMemoryBytes), why});
  };
  row(best, settingsText(best), "(chosen)");
  for (auto [other, label] : llvm::zip(runners, labelsOf(best, runners)))
    row(*other, label, whyNot(best, *other));
  table.print(out, 4);
  if (double noise = best.predicted.noise; noise > 0)
    out << "    plans within " << percent(noise, 1)
        << " of each other can't be told apart by this model\n";
  out << "\n";
  std::vector<const Plan *> leaner = plansWithLessMemory(planResult, kMostSlower, kMostLeaner);
  if (leaner.empty())
    return;
  out << "  with less memory\n";
  Table frontier({"plan", "memory", "saves", "step", "slower by"});
  for (auto [other, label] : llvm::zip(leaner, labelsOf(best, leaner)))
    frontier.addRow({label, bytes(other->predicted.peakMemoryBytes),
                     bytes(best.predicted.peakMemoryBytes - other->predicted.peakMemoryBytes),
                     seconds(other->predicted.stepSeconds),
                     signedPercent(other->predicted.stepSeconds / best.predicted.stepSeconds - 1)});
  frontier.print(out, 4);
  out << "\n";
}

void printRecipes(llvm::raw_ostream &out, const Plan &plan) {
  if (plan.search.recipes.empty())
    return;
  out << "  published and textbook plans\n";
  Table table({"plan", "step", "slower by", "memory", "loses on", "--fix"});
  for (const KnownRecipe &recipe : plan.search.recipes)
    table.addRow(recipeCells(plan, recipe));
  table.print(out, 4);
  out << "\n";
}

void printPins(llvm::raw_ostream &out, const Plan &plan) {
  if (plan.search.pins.empty())
    return;
  out << "  pins\n";
  Table table({"", "step without it", "costs", ""});
  double step = plan.predicted.stepSeconds;
  for (const PinCost &pin : plan.search.pins) {
    double costs = step - pin.stepWithoutSeconds;
    std::string text = costs > 1e-9 * step ? signedSeconds(costs) : "nothing";
    table.addRow({pin.key + "=" + pin.value, seconds(pin.stepWithoutSeconds),
                  (pin.exhaustive ? "" : "at least ") + text,
                  costs > 1e-9 * step ? signedPercent(costs / pin.stepWithoutSeconds) : ""});
  }
  table.print(out, 4);
  out << "\n";
}

// Says which limit ended a search that is no proof.
std::string endOf(const PlanSearch &search) {
  if (search.end == SearchEnd::Work)
    return ", until its limit of work was met,";
  if (search.end == SearchEnd::Seconds)
    return ", until --search-seconds" +
           (search.mostSeconds > 0 ? " " + figures::number(search.mostSeconds) : std::string()) +
           " had passed,";
  return "";
}

// Names the resource that limits the step, with the reason.
std::string bindingOf(const Plan &plan, int64_t limit) {
  const PlanTimes &times = plan.predicted.times;
  double step = plan.predicted.stepSeconds;
  double used = static_cast<double>(plan.predicted.peakMemoryBytes);
  bool isShort = used > 0.9 * static_cast<double>(limit);
  std::string memory = bytes(plan.predicted.peakMemoryBytes) + " of " + bytes(limit) + " are used";
  std::string room = (isShort ? "; memory is short too, " : "; memory is not short, ") + memory;
  if (!plan.predicted.fits)
    return "memory: " + memory;
  if (times.recompute > 1e-3 * step)
    return "memory: recomputation takes " + seconds(times.recompute) + " a step (" +
           percent(times.recompute, step) + ") that more of it would save; " + memory;
  const TimePart *most = nullptr;
  for (const TimePart &part : timeParts())
    if (part.seconds != &PlanTimes::compute &&
        (!most || times.*part.seconds > times.*most->seconds))
      most = &part;
  double largest = times.*most->seconds;
  if (largest < 0.1 * step)
    return "compute: " + percent(times.compute, step) + " of the step, and no more than " +
           percent(largest, step) + " (" + most->name + ") goes elsewhere" + room;
  std::string why;
  if (most->seconds == &PlanTimes::bubble)
    why = ": " + counted(plan.decisions.pp, "stage") + " for " +
          std::to_string(plan.decisions.numMicroBatches) +
          (plan.decisions.numMicroBatches == 1 ? " micro-batch" : " micro-batches");
  if (most->seconds == &PlanTimes::exposedTensor)
    why = ": tp=" + std::to_string(plan.decisions.tp);
  return most->name + why + ", " + seconds(largest) + " of the step (" + percent(largest, step) +
         ")" + room;
}

} // namespace

std::string planToText(const PlanResult &planResult, const Topology &topology) {
  const Plan &plan = planResult.best;
  int64_t limit = memoryLimitOf(plan, topology);
  std::string text;
  llvm::raw_string_ostream out(text);
  printChoice(out, plan, topology);
  printTime(out, plan);
  printMemory(out, plan, limit);
  printStages(out, plan);
  printOthers(out, planResult);
  printRecipes(out, plan);
  printPins(out, plan);
  out << "  binding           " << bindingOf(plan, usableOf(plan, limit)) << "\n";
  const PlanSearch &search = plan.search;
  std::string simpler = simplerText(plan);
  if (!simpler.empty())
    out << "  simpler           " << simpler << "\n";
  out << "  certificate       search: no plan of this space is faster than "
      << seconds(search.searchBoundSeconds) << " by this cost model"
      << (plan.predicted.stepHighSeconds > 0 ? ", whose errors are in the interval above" : "")
      << ", gap " << percent(search.searchGap, 1) << "; " << search.candidates << " candidates"
      << endOf(search) << " in " << seconds(search.seconds) << "\n";
  if (!search.implied.empty())
    out << "                    of this space: " << search.implied
        << "; placement=searched beside it in --fix asks for any\n";
  std::string relaxation = relaxationText(search);
  if (!relaxation.empty())
    out << "                    relaxation: " << relaxation << "\n";
  return text;
}

} // namespace dtc
