// The plan for people.
#include "compiler/planner/Planner.h"

#include "compiler/support/Table.h"
#include "compiler/support/Units.h"

#include "llvm/Support/Format.h"

namespace dtc {
namespace {

std::string meshText(const Plan &plan) {
  return "dp=" + std::to_string(plan.dp) + " tp=" + std::to_string(plan.tp) +
         " pp=" + std::to_string(plan.pp) + " cp=" + std::to_string(plan.cp) +
         " ep=" + std::to_string(plan.ep);
}

std::string settings(const Plan &plan) {
  return meshText(plan) + " sp=" + std::to_string(plan.sequenceParallel) +
         " zero=" + std::to_string(plan.zero) + " micro_batch=" + std::to_string(plan.microBatch);
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

// What the loser spends more of than the winner, the largest difference first.
std::string losesOn(const Plan &other, const Plan &best) {
  if (!other.predicted.fits)
    return "does not fit";
  double compute = other.stages[0].computeSeconds - best.stages[0].computeSeconds;
  double exposed = other.predicted.exposedCommSeconds - best.predicted.exposedCommSeconds;
  if (compute <= 0 && exposed <= 0)
    return other.predicted.peakMemoryBytes > best.predicted.peakMemoryBytes ? "memory" : "a tie";
  return compute > exposed ? "compute +" + seconds(compute)
                           : "exposed communication +" + seconds(exposed);
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
      << "\n\n";
}

void printTime(llvm::raw_ostream &out, const Plan &plan) {
  const PlanPrediction &p = plan.predicted;
  out << "  step              " << seconds(p.stepSeconds) << ", "
      << llvm::format("%.0f", p.tokensPerSecond) << " tokens/s, "
      << llvm::format("%.3g", p.tflopsPerDevice) << " TFLOP/s a device, MFU " << percent(p.mfu, 1)
      << "\n";
  out << "    compute         " << seconds(plan.stages[0].computeSeconds) << " ("
      << percent(plan.stages[0].computeSeconds, p.stepSeconds) << ")\n";
  out << "    exposed comm    " << seconds(p.exposedCommSeconds) << " ("
      << percent(p.exposedCommSeconds, p.stepSeconds) << ")\n";
  out << "    bubble          0 s (0.0%, one pipeline stage)\n\n";
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
  table.print(out, 4);
  out << "\n";
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
  printOthers(out, outcome);
  double memoryShare =
      static_cast<double>(plan.predicted.peakMemoryBytes) / topology.device.memoryBytes;
  out << "  binding           "
      << (memoryShare > 0.9                                                   ? "memory"
          : plan.predicted.exposedCommSeconds > plan.stages[0].computeSeconds ? "communication"
                                                                              : "compute")
      << "; searched every candidate in " << seconds(plan.search.seconds)
      << ", no plan can be faster than " << seconds(plan.search.lowerBoundSeconds)
      << " (matrix products at peak), gap " << percent(plan.search.optimalityGap, 1) << "\n";
  return text;
}

} // namespace dtc
