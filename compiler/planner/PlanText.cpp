// The plan for people.
#include "compiler/planner/Planner.h"

#include "compiler/support/Table.h"
#include "compiler/support/Units.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"

namespace dtc {
namespace {

std::string meshText(const Plan &plan) {
  return "dp=" + std::to_string(plan.dp) + " tp=" + std::to_string(plan.tp) +
         " pp=" + std::to_string(plan.pp) + " cp=" + std::to_string(plan.cp) +
         " ep=" + std::to_string(plan.ep);
}

std::string settings(const Plan &plan) {
  std::string text = meshText(plan) + " sp=" + std::to_string(plan.sequenceParallel) +
                     " zero=" + std::to_string(plan.zero) +
                     " micro_batch=" + std::to_string(plan.microBatch);
  if (plan.pp > 1)
    text += " " + plan.schedule;
  if (plan.virtualStages > 1)
    text += " x" + std::to_string(plan.virtualStages);
  if (plan.recompute != "none")
    text += " recompute " + plan.recompute;
  if (plan.axisOrder != Plan().axisOrder)
    text += " order " + plan.axisOrder;
  return text;
}

std::string percent(double part, double whole) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.1f%%", whole > 0 ? 100 * part / whole : 0);
  return text;
}

std::string bytes(int64_t value) {
  return printRounded(static_cast<double>(value), Quantity::Bytes);
}
std::string seconds(double value) { return printRounded(value, Quantity::Seconds); }

struct TimePart {
  const char *name;
  double PlanTimes::*seconds;
};
constexpr TimePart kTimeParts[] = {
    {"compute", &PlanTimes::compute},
    {"recomputation", &PlanTimes::recompute},
    {"exposed tensor-parallel comm", &PlanTimes::exposedTensor},
    {"exposed context-parallel comm", &PlanTimes::exposedContext},
    {"exposed expert-parallel comm", &PlanTimes::exposedExpert},
    {"exposed gradient comm", &PlanTimes::exposedGradients},
    {"transfers between stages", &PlanTimes::stageTransfers},
    {"bubble", &PlanTimes::bubble},
    {"optimizer", &PlanTimes::optimizer},
    {"host", &PlanTimes::host},
};

// What the loser spends more of than the winner, the largest difference first.
std::string losesOn(const Plan &other, const Plan &best) {
  if (!other.predicted.fits)
    return "does not fit";
  const TimePart *most = nullptr;
  auto extra = [&](const TimePart &part) {
    return other.predicted.times.*part.seconds - best.predicted.times.*part.seconds;
  };
  for (const TimePart &part : kTimeParts)
    if (!most || extra(part) > extra(*most))
      most = &part;
  if (extra(*most) <= 1e-9 * best.predicted.stepSeconds)
    return "a tie";
  return std::string(most->name) + " +" + seconds(extra(*most));
}

void printChoice(llvm::raw_ostream &out, const Plan &plan) {
  out << "plan for " << plan.modelName << " ("
      << llvm::format("%.1f", static_cast<double>(plan.parameters) / 1e6)
      << " M parameters, sequence " << plan.sequenceLength << ") on " << plan.topologyName << ", "
      << plan.devices << (plan.devices == 1 ? " device, " : " devices, ") << plan.nodes
      << (plan.nodes == 1 ? " node" : " nodes") << "\n\n";
  out << "  mesh              " << meshText(plan) << "\n";
  out << "  batch             " << plan.globalBatch << " = " << plan.dp << " ranks x "
      << plan.microBatch << " samples x " << plan.numMicroBatches << " micro-batches\n";
  out << "  sequence parallel " << (plan.sequenceParallel ? "yes" : "no") << ", ZeRO " << plan.zero
      << ", recompute " << plan.recompute << ", " << plan.precision << ", " << plan.optimizer
      << "\n";
  if (plan.pp > 1)
    out << "  pipeline          " << plan.pp << " stages, " << plan.schedule
        << (plan.virtualStages > 1 ? ", " + std::to_string(plan.virtualStages) + " virtual stages"
                                   : "")
        << "\n";
  if (plan.devices > 1)
    out << "  links             " << plan.axisOrder << ", from the innermost out\n";
  out << "\n";
}

void printTime(llvm::raw_ostream &out, const Plan &plan) {
  const PlanPrediction &p = plan.predicted;
  out << "  step              " << seconds(p.stepSeconds) << ", "
      << llvm::format("%.0f", p.tokensPerSecond) << " tokens/s, "
      << llvm::format("%.3g", p.tflopsPerDevice) << " TFLOP/s a device, MFU " << percent(p.mfu, 1)
      << "\n";
  Table table({"", "seconds", "share"});
  for (const TimePart &part : kTimeParts)
    if (double value = p.times.*part.seconds; value > 0)
      table.addRow({part.name, seconds(value), percent(value, p.stepSeconds)});
  table.print(out, 4);
  out << "\n";
}

void printMemory(llvm::raw_ostream &out, const Plan &plan, const Topology &topology) {
  const PlanMemory &m = plan.predicted.memory;
  out << "  memory a device   " << bytes(plan.predicted.peakMemoryBytes) << " of "
      << bytes(topology.device.memoryBytes) << (plan.predicted.fits ? "" : "  DOES NOT FIT")
      << "\n";
  Table table({"", "bytes", "share"});
  auto row = [&](const char *name, int64_t value) {
    table.addRow(
        {name, bytes(value),
         percent(static_cast<double>(value), static_cast<double>(plan.predicted.peakMemoryBytes))});
  };
  row("parameters", m.parameters);
  row("gradients", m.gradients);
  row("optimizer", m.optimizer);
  row("activations", m.activations);
  row("temporaries", m.temporaries);
  row("communication", m.communication);
  if (m.reserved > 0)
    row("reserved", m.reserved);
  table.print(out, 4);
  out << "\n";
}

// One row per stage; equal neighbours share one.
void printStages(llvm::raw_ostream &out, const Plan &plan) {
  if (plan.stages.size() < 2)
    return;
  Table table({"stage", "layers", "compute", "exposed comm", "parameters", "gradients", "optimizer",
               "activations", "in flight", "recompute", "peak"});
  for (size_t index = 0; index < plan.stages.size(); ++index) {
    const PlanStage &stage = plan.stages[index];
    std::string layers;
    for (auto [first, last] : stage.chunks)
      layers += (layers.empty() ? "" : ",") + std::to_string(first) + "-" + std::to_string(last);
    if (stage.chunks.size() > 3)
      layers = std::to_string(stage.chunks.size()) + " runs of " +
               std::to_string(stage.recompute.size() / stage.chunks.size());
    int64_t full = llvm::count(stage.recompute, "full"),
            selective = llvm::count(stage.recompute, "selective");
    std::string recompute = full ? std::to_string(full) + " full" : "";
    if (selective)
      recompute += (full ? ", " : "") + std::to_string(selective) + " selective";
    std::string inFlight;
    llvm::raw_string_ostream(inFlight) << llvm::format("%.4g", stage.inFlight);
    table.addRow({std::to_string(index), layers, seconds(stage.computeSeconds),
                  seconds(stage.exposedCommSeconds), bytes(stage.memory.parameters),
                  bytes(stage.memory.gradients), bytes(stage.memory.optimizer),
                  bytes(stage.memory.activations), inFlight,
                  recompute.empty() ? "none" : recompute, bytes(stage.peakMemoryBytes)});
  }
  out << "  stages\n";
  table.print(out, 4);
  out << "\n";
}

// What would have to give for a faster step.
std::string bindingOf(const Plan &plan, const Topology &topology) {
  const PlanTimes &times = plan.predicted.times;
  double memoryShare = static_cast<double>(plan.predicted.peakMemoryBytes) /
                       static_cast<double>(topology.device.memoryBytes);
  if (times.recompute > 0 || memoryShare > 0.9)
    return "memory";
  const TimePart *most = &kTimeParts[0];
  for (const TimePart &part : kTimeParts)
    if (times.*part.seconds > times.*most->seconds)
      most = &part;
  return most->name;
}

void printOthers(llvm::raw_ostream &out, const PlanOutcome &outcome) {
  out << "  runners-up of " << outcome.best.search.candidates << " candidates\n";
  Table table({"plan", "step", "memory", "loses on"});
  table.addRow({settings(outcome.best), seconds(outcome.best.predicted.stepSeconds),
                bytes(outcome.best.predicted.peakMemoryBytes), "(chosen)"});
  size_t shown = 0;
  for (const Plan &other : outcome.others) {
    if (shown++ == 5)
      break;
    table.addRow({settings(other), seconds(other.predicted.stepSeconds),
                  bytes(other.predicted.peakMemoryBytes), losesOn(other, outcome.best)});
  }
  table.print(out, 4);
  out << "\n";
}

} // namespace

std::string planToText(const PlanOutcome &outcome, const Topology &topology) {
  const Plan &plan = outcome.best;
  std::string text;
  llvm::raw_string_ostream out(text);
  printChoice(out, plan);
  printTime(out, plan);
  printMemory(out, plan, topology);
  printStages(out, plan);
  printOthers(out, outcome);
  out << "  binding           " << bindingOf(plan, topology) << "; searched "
      << plan.search.candidates << " candidates"
      << (plan.search.exhaustive ? "" : " until the time was up") << " in "
      << seconds(plan.search.seconds) << ", no plan of this space is faster than "
      << seconds(plan.search.lowerBoundSeconds) << " by this cost model, gap "
      << percent(plan.search.optimalityGap, 1) << "\n";
  return text;
}

} // namespace dtc
