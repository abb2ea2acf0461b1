// The simulation of a plan's step, as text and as JSON.
#include "compiler/show/explain/PrintSimulation.h"

#include "compiler/decide/decisions/Words.h"
#include "compiler/search/pipeline/Timing.h"
#include "compiler/show/explain/Figures.h"
#include "compiler/show/explain/PlanPipeline.h"
#include "compiler/support/Table.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace dtc {
namespace {

using namespace figures;
using Json = nlohmann::ordered_json;

int64_t peakOf(const TraceCounter &memory) {
  int64_t peak = 0;
  for (const TraceCounter::Sample &sample : memory.samples)
    peak = std::max(peak, sample.value);
  return peak;
}

// The streams that send from one stage to another.
struct StageLink {
  int from = 0;
  bool forward = true;
  std::string to;
  double utilisation = 0;
};

std::vector<StageLink> linksOf(const StepSimulation &step) {
  std::vector<StageLink> links;
  auto streams = step.simulation.allStreams();
  for (size_t index = 0; index < streams.size(); ++index) {
    llvm::StringRef name = streams[index].name;
    bool forward = name.consume_front("send to ");
    if (forward || name.consume_front("send gradient to "))
      links.push_back(
          {streams[index].device, forward, name.str(), step.result.streamUtilisation[index]});
  }
  return links;
}

void printBoth(llvm::raw_ostream &out, const Plan &plan, const SimulatedStep &step) {
  Table table({"", "simulated", "predicted", "difference"});
  auto row = [&](const char *name, double simulated, double predicted) {
    table.addRow({name, seconds(simulated), seconds(predicted),
                  signedSeconds(simulated - predicted) + " (" +
                      signedPercent(predicted > 0 ? simulated / predicted - 1 : 0) + ")"});
  };
  row("step", step.stepSeconds, plan.predicted.stepSeconds);
  row("all micro-batches", step.loopSeconds, step.predictedLoopSeconds);
  table.print(out, 2);
  out << "  after the micro-batches: gradients " << seconds(step.gradientSeconds) << ", optimizer "
      << seconds(step.optimizerSeconds)
      << ";\n  the prediction adds up the longest of each, the simulation lets a stage start "
         "when it is done\n";
}

std::string linkShare(const std::vector<StageLink> &links, int stage, bool forward) {
  double most = 0;
  bool any = false;
  for (const StageLink &link : links)
    if (link.from == stage && link.forward == forward) {
      most = std::max(most, link.utilisation);
      any = true;
    }
  return any ? percent(most, 1) : "";
}

void printStages(llvm::raw_ostream &out, const Plan &plan, const StepSimulation &step) {
  std::vector<StageLink> links = linksOf(step);
  Table table({"stage", "busy", "idle", "in flight", "activations", "peak memory", "planned",
               "link down", "link up"});
  for (int stage = 0; stage < step.problem.stages; ++stage) {
    const PlanStage &planned = plan.stages[static_cast<size_t>(stage)];
    const StageTiming &timing = step.timing.stages[static_cast<size_t>(stage)];
    double share = step.result.streamUtilisation[static_cast<size_t>(stage)];
    double inFlight =
        static_cast<double>(timing.peakPending) / static_cast<double>(plan.decisions.virtualStages);
    table.addRow({std::to_string(stage), seconds(share * step.result.makespan),
                  percent(1 - share, 1), number(inFlight), bytes(timing.peakBytes),
                  bytes(peakOf(step.memory[static_cast<size_t>(stage)])),
                  bytes(planned.memory.total()), linkShare(links, stage, true),
                  linkShare(links, stage, false)});
  }
  table.print(out, 2);
}

Json stageToJson(const Plan &plan, const StepSimulation &step, size_t stage) {
  const StageTiming &timing = step.timing.stages[stage];
  double share = step.result.streamUtilisation[stage];
  return {{"name", step.simulation.allDevices()[stage].name},
          {"busy_s", share * step.result.makespan},
          {"idle_s", (1 - share) * step.result.makespan},
          {"idle_fraction", 1 - share},
          {"peak_in_flight", static_cast<double>(timing.peakPending) /
                                 static_cast<double>(plan.decisions.virtualStages)},
          {"peak_in_flight_chunks", timing.peakPending},
          {"peak_activation_bytes", timing.peakBytes},
          {"peak_memory_bytes", peakOf(step.memory[stage])},
          {"planned_memory_bytes", plan.stages[stage].memory.total()}};
}

Json criticalPath(const StepSimulation &step) {
  Json path = Json::array();
  for (int task : step.result.criticalPath) {
    const SimTask &each = step.simulation.allTasks()[static_cast<size_t>(task)];
    const SimTime &time = step.result.tasks[static_cast<size_t>(task)];
    int stream = each.streams.front();
    path.push_back({{"task", each.name},
                    {"stage", step.simulation.allStreams()[static_cast<size_t>(stream)].device},
                    {"start_s", time.start},
                    {"end_s", time.end}});
  }
  return path;
}

} // namespace

void printSimulation(llvm::raw_ostream &out, const Plan &plan, const SimulatedStep &step) {
  const StepSimulation &simulation = step.simulation;
  out << plan.modelName << " on " << counted(plan.devices, "device") << " of " << plan.topologyName
      << ": " << toString(plan.decisions.schedule) << ", " << counted(plan.decisions.pp, "stage");
  if (plan.decisions.virtualStages > 1)
    out << " of " << counted(plan.decisions.virtualStages, "chunk");
  out << ", " << plan.decisions.numMicroBatches
      << (plan.decisions.numMicroBatches == 1 ? " micro-batch" : " micro-batches") << "\n\n";
  printBoth(out, plan, step);
  out << "\n";
  printStages(out, plan, simulation);
  int64_t transfers = 0;
  double sending = 0;
  for (int task : simulation.result.criticalPath)
    if (simulation.simulation.allTasks()[static_cast<size_t>(task)].kind == SimTaskKind::Transfer) {
      const SimTime &time = simulation.result.tasks[static_cast<size_t>(task)];
      ++transfers;
      sending += time.end - time.start;
    }
  out << "\n  stages wait " << percent(simulation.bubbleFraction, 1)
      << " of the step in the mean; while there are micro-batches "
      << percent(simulation.timing.bubbleFraction, 1) << " (bubble)\n";
  out << "  critical path of "
      << counted(static_cast<int64_t>(simulation.result.criticalPath.size()), "task")
      << ", of which " << counted(transfers, "transfer") << " with " << seconds(sending) << "\n";
}

std::string simulationToJson(const Plan &plan, const SimulatedStep &step) {
  const StepSimulation &simulation = step.simulation;
  Json json;
  json["schema"] = "dtc.simulation/1";
  json["model"] = plan.modelName;
  json["schedule"] = toString(plan.decisions.schedule);
  json["virtual_stages"] = plan.decisions.virtualStages;
  json["num_micro_batches"] = plan.decisions.numMicroBatches;
  json["step_time_s"] = step.stepSeconds;
  json["predicted_step_time_s"] = plan.predicted.stepSeconds;
  json["difference_s"] = step.stepSeconds - plan.predicted.stepSeconds;
  json["makespan_s"] = simulation.result.makespan;
  json["loop_s"] = step.loopSeconds;
  json["predicted_loop_s"] = step.predictedLoopSeconds;
  json["gradients_s"] = step.gradientSeconds;
  json["optimizer_s"] = step.optimizerSeconds;
  json["idle_fraction"] = simulation.bubbleFraction;
  json["bubble_fraction"] = simulation.timing.bubbleFraction;
  json["stages"] = Json::array();
  for (size_t stage = 0; stage < plan.stages.size(); ++stage)
    json["stages"].push_back(stageToJson(plan, simulation, stage));
  json["links"] = Json::array();
  for (const StageLink &link : linksOf(simulation))
    json["links"].push_back({{"from", link.from},
                             {"to", link.to},
                             {"carries", link.forward ? "activations" : "gradients"},
                             {"utilisation", link.utilisation}});
  json["critical_path"] = criticalPath(simulation);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace dtc
