// The summary of a simulated step, as text and as JSON.
#include "compiler/simulate/PipelineSimulation.h"
#include "compiler/support/Table.h"
#include "compiler/support/Units.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include <algorithm>

using namespace dtc;

static int64_t peakOf(const TraceCounter &memory) {
  int64_t peak = 0;
  for (const TraceCounter::Sample &sample : memory.samples)
    peak = std::max(peak, sample.value);
  return peak;
}

static std::string seconds(double value) { return printRounded(value, Quantity::Seconds); }

static std::string percent(double share) { return llvm::formatv("{0:f1} %", 100 * share).str(); }

void dtc::printStep(llvm::raw_ostream &out, const StepSimulation &step) {
  const PipelineProblem &problem = step.problem;
  out << toString(problem.kind) << ", " << problem.stages << " stages";
  if (problem.virtualStages > 1)
    out << " of " << problem.virtualStages << " chunks";
  out << ", " << problem.microBatches << " micro-batches: step " << seconds(step.result.makespan)
      << ", bubble " << percent(step.bubbleFraction) << "\n";
  Table table({"stage", "busy", "idle", "in flight", "peak memory"});
  for (int stage = 0; stage < problem.stages; ++stage) {
    double busy = step.result.streamUtilisation[stage] * step.result.makespan;
    const StageTiming &timing = step.timing.stages[stage];
    table.addRow({step.simulation.allDevices()[stage].name, seconds(busy),
                  percent(1 - step.result.streamUtilisation[stage]),
                  std::to_string(timing.peakPending),
                  printRounded(static_cast<double>(peakOf(step.memory[stage])), Quantity::Bytes)});
  }
  table.print(out, 2);
  size_t links = 0;
  double sending = 0;
  for (int task : step.result.criticalPath)
    if (step.simulation.allTasks()[task].kind == SimTaskKind::Transfer) {
      ++links;
      sending += step.result.tasks[task].end - step.result.tasks[task].start;
    }
  out << "critical path: " << step.result.criticalPath.size() << " tasks, of which " << links
      << (links == 1 ? " is a transfer and takes " : " are transfers and take ") << seconds(sending)
      << "\n";
}

void dtc::printStepJson(llvm::raw_ostream &out, const StepSimulation &step) {
  llvm::json::OStream json(out, 2);
  auto member = [&](llvm::StringRef key, double value) {
    json.attributeBegin(key);
    json.rawValue([&](llvm::raw_ostream &raw) { raw << llvm::format("%.9g", value); });
    json.attributeEnd();
  };
  auto streamOf = [&](int task) {
    return step.simulation.allStreams()[step.simulation.allTasks()[task].streams.front()];
  };
  json.objectBegin();
  json.attribute("schema", "dtc.simulation/1");
  json.attribute("schedule", toString(step.problem.kind));
  json.attribute("virtual_stages", step.problem.virtualStages);
  json.attribute("num_micro_batches", step.problem.microBatches);
  member("step_time_s", step.result.makespan);
  member("bubble_fraction", step.bubbleFraction);
  json.attributeArray("stages", [&] {
    for (int stage = 0; stage < step.problem.stages; ++stage)
      json.object([&] {
        json.attribute("name", llvm::json::fixUTF8(step.simulation.allDevices()[stage].name));
        member("busy_s", step.result.streamUtilisation[stage] * step.result.makespan);
        json.attribute("peak_in_flight_chunks", step.timing.stages[stage].peakPending);
        json.attribute("peak_memory_bytes", peakOf(step.memory[stage]));
      });
  });
  json.attributeArray("critical_path", [&] {
    for (int task : step.result.criticalPath)
      json.object([&] {
        json.attribute("task", step.simulation.allTasks()[task].name);
        json.attribute("stage", streamOf(task).device);
        member("start_s", step.result.tasks[task].start);
        member("end_s", step.result.tasks[task].end);
      });
  });
  json.objectEnd();
  out << "\n";
}
