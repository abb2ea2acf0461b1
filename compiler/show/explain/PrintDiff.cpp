// The differences of two plans, as text and as JSON.
#include "compiler/show/explain/PrintDiff.h"

#include "compiler/show/explain/Figures.h"
#include "compiler/show/explain/PlanDiff.h"
#include "compiler/support/Table.h"

#include <nlohmann/json.hpp>

namespace dtc {
namespace {

using namespace figures;
using Json = nlohmann::ordered_json;

void printDecisions(llvm::raw_ostream &out, const char *title,
                    const std::vector<DecisionDifference> &list) {
  if (list.empty())
    return;
  out << "\n  " << title << "\n";
  Table table({"", "a", "b"});
  for (const DecisionDifference &each : list)
    table.addRow({each.key, each.a, each.b});
  table.print(out, 4);
}

void printTimes(llvm::raw_ostream &out, const Plan &a, const Plan &b, const PlanDiff &diff) {
  double stepA = a.predicted.stepSeconds, stepB = b.predicted.stepSeconds;
  out << "\n  time of a step\n";
  Table table({"", "a", "b", "change", "of a's step"});
  for (const PartDifference &part : diff.times)
    table.addRow({part.name, seconds(part.a), seconds(part.b), signedSeconds(part.change()),
                  signedPercent(stepA > 0 ? part.change() / stepA : 0)});
  table.addRow({"step", seconds(stepA), seconds(stepB), signedSeconds(stepB - stepA),
                signedPercent(stepA > 0 ? stepB / stepA - 1 : 0)});
  table.print(out, 4);
}

void printMemory(llvm::raw_ostream &out, const Plan &a, const Plan &b, const PlanDiff &diff) {
  auto whole = [](double value) { return static_cast<int64_t>(value); };
  int64_t peakA = a.predicted.peakMemoryBytes, peakB = b.predicted.peakMemoryBytes;
  out << "\n  memory of the fullest device\n";
  Table table({"", "a", "b", "change", "of a's peak"});
  auto share = [&](double change) {
    return signedPercent(peakA > 0 ? change / static_cast<double>(peakA) : 0);
  };
  for (const PartDifference &part : diff.memory)
    table.addRow({part.name, bytes(whole(part.a)), bytes(whole(part.b)),
                  signedBytes(whole(part.change())), share(part.change())});
  table.addRow({"peak", bytes(peakA), bytes(peakB), signedBytes(peakB - peakA),
                share(static_cast<double>(peakB - peakA))});
  table.print(out, 4);
  if (a.predicted.fits != b.predicted.fits)
    out << "    " << (a.predicted.fits ? "b" : "a") << " does not fit\n";
}

Json decisionsToJson(const std::vector<DecisionDifference> &list) {
  Json json = Json::array();
  for (const DecisionDifference &each : list)
    json.push_back({{"key", each.key}, {"a", each.a}, {"b", each.b}});
  return json;
}

Json partsToJson(const std::vector<PartDifference> &list, double whole) {
  Json json = Json::array();
  for (const PartDifference &part : list)
    json.push_back({{"part", part.key},
                    {"a", part.a},
                    {"b", part.b},
                    {"change", part.change()},
                    {"share", whole > 0 ? part.change() / whole : 0}});
  return json;
}

} // namespace

void printDiff(llvm::raw_ostream &out, const Plan &a, const Plan &b, const PlanDiff &diff) {
  out << diff.summary << "\n\n";
  out << "  a  " << settingsText(a) << "\n  b  " << settingsText(b) << "\n";
  printDecisions(out, "asked for", diff.request);
  printDecisions(out, "decided", diff.decisions);
  printTimes(out, a, b, diff);
  printMemory(out, a, b, diff);
  if (diff.moved.empty())
    return;
  out << "\n  tensors placed otherwise\n";
  Table table({"", "axis", "a", "b", "tensors"});
  for (const MovedTensors &moved : diff.moved)
    table.addRow({moved.pattern, moved.axis, moved.a, moved.b, std::to_string(moved.count)});
  table.print(out, 4);
}

std::string diffToJson(const Plan &a, const Plan &b, const PlanDiff &diff) {
  double stepA = a.predicted.stepSeconds, stepB = b.predicted.stepSeconds;
  int64_t peakA = a.predicted.peakMemoryBytes, peakB = b.predicted.peakMemoryBytes;
  Json json;
  json["schema"] = "dtc.diff/1";
  json["summary"] = diff.summary;
  json["request"] = decisionsToJson(diff.request);
  json["decisions"] = decisionsToJson(diff.decisions);
  json["step_time_s"] = {{"a", stepA},
                         {"b", stepB},
                         {"change", stepB - stepA},
                         {"share", stepA > 0 ? stepB / stepA - 1 : 0}};
  json["peak_memory_bytes"] = {{"a", peakA}, {"b", peakB}, {"change", peakB - peakA}};
  json["fits"] = {{"a", a.predicted.fits}, {"b", b.predicted.fits}};
  json["time"] = partsToJson(diff.times, stepA);
  json["memory"] = partsToJson(diff.memory, static_cast<double>(peakA));
  json["tensors"] = Json::array();
  for (const MovedTensors &moved : diff.moved)
    json["tensors"].push_back({{"tensors", moved.pattern},
                               {"count", moved.count},
                               {"axis", moved.axis},
                               {"a", moved.a},
                               {"b", moved.b}});
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace dtc
