// Compares two plans, and what their differences cost.
#include "compiler/show/explain/PlanDiff.h"

#include "compiler/decide/decisions/AllDecisions.h"
#include "compiler/decide/decisions/Decision.h"
#include "compiler/decide/decisions/Words.h"
#include "compiler/show/explain/Figures.h"
#include "compiler/show/explain/TensorGroups.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <set>

namespace dtc {
namespace {

using namespace figures;

std::string text(int64_t value) { return std::to_string(value); }

class Comparer {
public:
  Comparer(const Plan &a, const Plan &b) : a(a), b(b) {}

  PlanDiff run() {
    request();
    decisions();
    parts();
    tensors();
    diff.summary = summary();
    return std::move(diff);
  }

private:
  static void add(std::vector<DecisionDifference> &list, llvm::StringRef key,
                  const std::string &ofA, const std::string &ofB) {
    if (ofA != ofB)
      list.push_back({key.str(), ofA, ofB});
  }

  void request() {
    auto &list = diff.request;
    add(list, "model", a.modelName, b.modelName);
    add(list, "parameters", text(a.parameters), text(b.parameters));
    add(list, "frozen_parameters", text(a.frozenParameters), text(b.frozenParameters));
    add(list, "sequence_length", text(a.sequenceLength), text(b.sequenceLength));
    add(list, "topology", a.topologyName, b.topologyName);
    add(list, "devices", text(a.devices), text(b.devices));
    add(list, "nodes", text(a.nodes), text(b.nodes));
    add(list, "global_batch", text(a.globalBatch), text(b.globalBatch));
    add(list, "precision", nameOf(a.precision).str(), nameOf(b.precision).str());
    add(list, "optimizer", nameOf(a.optimizer).str(), nameOf(b.optimizer).str());
  }

  void decisions() {
    auto &list = diff.decisions;
    for (const Decision *each : dtc::decisions())
      add(list, each->key, valueOf(a, *each), valueOf(b, *each));
    add(list, "layers per stage", cut(a), cut(b));
  }

  // Returns the value of a decision; counts layers if they recompute differently: "mixed (12 full,
  // 84 none)".
  static std::string valueOf(const Plan &plan, const Decision &decision) {
    std::string value = decision.valueOf(plan.decisions);
    return value == "mixed" ? "mixed (" + recomputedLayers(plan) + ")" : value;
  }

  static std::string recomputedLayers(const Plan &plan) {
    std::map<std::string, int64_t> counts;
    for (const PlanStage &stage : plan.stages)
      for (const std::string &layer : stage.recompute)
        ++counts[layer];
    std::string list;
    for (const auto &[kind, count] : counts)
      list += (list.empty() ? "" : ", ") + text(count) + " " + kind;
    return list;
  }

  // Runs of stages with as many layers: "3, 30 x 4, 3".
  static std::string cut(const Plan &plan) {
    std::vector<std::pair<int64_t, int64_t>> runs;
    for (const PlanStage &stage : plan.stages) {
      int64_t layers = static_cast<int64_t>(stage.recompute.size());
      if (!runs.empty() && runs.back().second == layers)
        ++runs.back().first;
      else
        runs.push_back({1, layers});
    }
    std::string list;
    for (auto [stages, layers] : runs)
      list += (list.empty() ? "" : ", ") + (stages > 1 ? text(stages) + " x " : std::string()) +
              text(layers);
    return list;
  }

  void parts() {
    for (const TimePart &part : timeParts())
      diff.times.push_back(
          {part.name, part.key, a.predicted.times.*part.seconds, b.predicted.times.*part.seconds});
    for (const MemoryPart &part : memoryParts())
      diff.memory.push_back({part.name, part.name,
                             static_cast<double>(a.predicted.memory.*part.bytes),
                             static_cast<double>(b.predicted.memory.*part.bytes)});
    for (auto *list : {&diff.times, &diff.memory}) {
      llvm::erase_if(*list, [](const PartDifference &part) { return part.change() == 0; });
      llvm::sort(*list, [](const PartDifference &x, const PartDifference &y) {
        double ofX = std::abs(x.change()), ofY = std::abs(y.change());
        return ofX != ofY ? ofX > ofY : x.key < y.key;
      });
    }
  }

  static std::string placementOf(const Plan &plan, const std::string &name,
                                 const std::string &axis) {
    auto tensor = plan.tensors.find(name);
    if (tensor == plan.tensors.end())
      return "absent";
    auto placement = tensor->second.find(axis);
    return placement == tensor->second.end() ? "replicate" : placement->second;
  }

  void tensors() {
    std::set<std::string> names, axes;
    for (const Plan *plan : {&a, &b})
      for (const auto &[name, placements] : plan->tensors) {
        names.insert(name);
        for (const auto &entry : placements)
          axes.insert(entry.first);
      }
    std::map<std::array<std::string, 4>, size_t> known;
    for (const std::string &name : names)
      for (const std::string &axis : axes) {
        std::string ofA = placementOf(a, name, axis), ofB = placementOf(b, name, axis);
        if (ofA == ofB)
          continue;
        std::string pattern = layerPattern(name);
        auto [it, isNew] = known.try_emplace({pattern, axis, ofA, ofB}, diff.moved.size());
        if (isNew)
          diff.moved.push_back({pattern, axis, ofA, ofB, 0});
        ++diff.moved[it->second].count;
      }
  }

  // Steps are compared where they do the same work, rates where they do not.
  std::string summary() const {
    double stepA = a.predicted.stepSeconds, stepB = b.predicted.stepSeconds;
    bool sameWork = workOf(a) == workOf(b);
    if (stepA <= 0 || stepB <= 0)
      return "one of the plans has no step time";
    double share = stepB / stepA - 1;
    if (!sameWork)
      return differentWork();
    if (diff.decisions.empty() && diff.moved.empty() && diff.times.empty() && diff.memory.empty())
      return "both are the same plan";
    if (std::abs(share) < 5e-4)
      return "a step of b takes as long as one of a, " + seconds(stepB) + causes(stepB - stepA);
    return "a step of b takes " + percent(std::abs(share), 1) + (share > 0 ? " longer" : " less") +
           causes(stepB - stepA);
  }

  // Tokens of a step, or samples.
  static int64_t workOf(const Plan &plan) {
    return plan.globalBatch * std::max<int64_t>(1, plan.sequenceLength);
  }

  std::string differentWork() const {
    Throughput ofA = throughputOf(a), ofB = throughputOf(b);
    return "the steps do different work: a trains " + number(ofA.perSecond) + " " + ofA.unit +
           ", b " + number(ofB.perSecond) + " (" +
           signedPercent(ofB.perSecond / ofA.perSecond - 1) + ")";
  }

  // The parts that make up most of the change, and those of weight against it.
  std::string causes(double change) const {
    std::string list;
    int shown = 0;
    for (const PartDifference &part : diff.times) {
      bool matters = std::abs(part.change()) >= 0.05 * std::abs(change) &&
                     std::abs(part.change()) >= 1e-4 * a.predicted.stepSeconds;
      if (!matters || shown++ == 4)
        break;
      list += (list.empty() ? ": " : ", ") + part.name + " " + signedSeconds(part.change());
    }
    return list;
  }

  const Plan &a, &b;
  PlanDiff diff;
};

} // namespace

PlanDiff diffPlans(const Plan &a, const Plan &b) { return Comparer(a, b).run(); }

} // namespace dtc
