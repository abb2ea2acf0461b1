#include "compiler/show/timeline/PrintTimeline.h"

#include "compiler/show/explain/Figures.h"
#include "compiler/support/Table.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>

namespace dtc {
namespace {

using namespace figures;
using Json = nlohmann::ordered_json;

struct KindSums {
  uint64_t runs = 0;
  double measured = 0, simulated = 0;
};

std::map<std::string, KindSums> sumsOf(const Comparison &measured) {
  std::map<std::string, KindSums> sums;
  for (const ComparedInstruction &each : measured.instructions) {
    KindSums &of = sums[each.kind];
    of.runs += each.runs;
    of.measured += each.measuredSeconds;
    of.simulated += each.simulatedSeconds;
  }
  return sums;
}

double exposedOf(const ProgramSimulation &simulation) {
  return simulation.exposedFraction * simulation.result.makespan;
}

void printMeasured(llvm::raw_ostream &out, const ProgramSimulation &simulation,
                   const Comparison &measured) {
  out << "\n  rank " << measured.rank << ", mean of " << measured.steps << " measured step"
      << (measured.steps == 1 ? "" : "s") << ": " << seconds(measured.measuredStep)
      << ", simulated " << seconds(simulation.result.makespan) << "\n\n";
  Table kinds({"kind", "runs", "measured", "simulated"});
  for (const auto &[kind, sums] : sumsOf(measured))
    kinds.addRow(
        {kind, std::to_string(sums.runs), seconds(sums.measured), seconds(sums.simulated)});
  kinds.print(out, 2);
  std::vector<const ComparedInstruction *> order;
  for (const ComparedInstruction &each : measured.instructions)
    order.push_back(&each);
  std::sort(order.begin(), order.end(), [](const auto *a, const auto *b) {
    auto distance = [](const auto *each) {
      return std::abs(each->measuredSeconds - each->simulatedSeconds);
    };
    return std::pair(-distance(a), std::pair(a->task, a->instruction)) <
           std::pair(-distance(b), std::pair(b->task, b->instruction));
  });
  order.resize(std::min<size_t>(order.size(), 20));
  out << "\n  instructions that differ most, of " << measured.instructions.size() << "\n";
  Table table({"task", "instruction", "what", "runs", "measured", "simulated"});
  for (const ComparedInstruction *each : order)
    table.addRow({each->task, std::to_string(each->instruction), each->name,
                  std::to_string(each->runs), seconds(each->measuredSeconds),
                  seconds(each->simulatedSeconds)});
  table.print(out, 2);
}

Json measuredToJson(const Comparison &measured) {
  Json json{{"rank", measured.rank},
            {"steps", measured.steps},
            {"step_time_s", measured.measuredStep},
            {"kinds", Json::object()},
            {"instructions", Json::array()}};
  for (const auto &[kind, sums] : sumsOf(measured))
    json["kinds"][kind] = {
        {"runs", sums.runs}, {"measured_s", sums.measured}, {"simulated_s", sums.simulated}};
  for (const ComparedInstruction &each : measured.instructions)
    json["instructions"].push_back({{"task", each.task},
                                    {"instruction", each.instruction},
                                    {"name", each.name},
                                    {"kind", each.kind},
                                    {"runs", each.runs},
                                    {"measured_s", each.measuredSeconds},
                                    {"simulated_s", each.simulatedSeconds}});
  return json;
}

} // namespace

void printTimeline(llvm::raw_ostream &out, const TimelineText &about,
                   const ProgramSimulation &simulation, const std::optional<Comparison> &measured) {
  double step = simulation.result.makespan;
  out << about.model << ": a step takes " << seconds(step);
  if (about.predictedSeconds > 0)
    out << "; the plan predicted " << seconds(about.predictedSeconds) << " (simulated "
        << signedPercent(step / about.predictedSeconds - 1) << ")";
  out << "\n  bubble " << percent(simulation.bubbleFraction, 1) << ", exposed communication "
      << seconds(exposedOf(simulation)) << " (" << percent(simulation.exposedFraction, 1)
      << ")\n\n";
  Table table({"ranks like", "number", "compute", "exposed", "idle", "in use at most", "arena"});
  for (const SimulatedClass &each : simulation.classes)
    table.addRow({std::to_string(each.rank), std::to_string(each.ranks),
                  seconds(each.computeSeconds), seconds(each.exposedSeconds),
                  seconds(each.idleSeconds), bytes(each.peakLiveBytes),
                  bytes(static_cast<int64_t>(each.arenaBytes))});
  table.print(out, 2);
  if (measured)
    printMeasured(out, simulation, *measured);
}

std::string timelineToJson(const TimelineText &about, const ProgramSimulation &simulation,
                           const std::optional<Comparison> &measured) {
  Json json;
  json["schema"] = "dtc.timeline/1";
  json["model"] = about.model;
  json["step_time_s"] = simulation.result.makespan;
  json["predicted_step_time_s"] = about.predictedSeconds;
  json["difference_s"] = simulation.result.makespan - about.predictedSeconds;
  json["bubble_fraction"] = simulation.bubbleFraction;
  json["exposed_comm_s"] = exposedOf(simulation);
  json["classes"] = Json::array();
  for (const SimulatedClass &each : simulation.classes)
    json["classes"].push_back({{"program", each.program},
                               {"rank", each.rank},
                               {"ranks", each.ranks},
                               {"instructions", each.runs.size()},
                               {"compute_s", each.computeSeconds},
                               {"exposed_comm_s", each.exposedSeconds},
                               {"idle_s", each.idleSeconds},
                               {"peak_live_bytes", each.peakLiveBytes},
                               {"arena_bytes", each.arenaBytes},
                               {"host_bytes", each.hostBytes}});
  if (measured)
    json["measured"] = measuredToJson(*measured);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace dtc
