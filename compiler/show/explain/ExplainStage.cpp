// A stage of a plan: what it holds, what it does and what that takes.
#include "compiler/show/explain/ExplainStage.h"

#include "compiler/show/explain/ExplainParts.h"
#include "compiler/show/explain/Figures.h"

#include "llvm/ADT/STLExtras.h"

namespace dtc {
namespace {

using namespace figures;

constexpr size_t kMostOps = 12;

// Seconds of a step.
struct StageSeconds {
  double products = 0, attention = 0, memoryBound = 0;
  double other = 0; // other compute: waits for launches, and slowdown by overlapped collectives
  double exposedLayers = 0, exposedGradients = 0, optimizer = 0, waiting = 0;
};

class StageExplainer {
public:
  StageExplainer(const ExplainRequest &request, size_t index)
      : plan(request.plan), costed(request.costed), index(index), stage(plan.stages[index]),
        ops(opsOfStage(plan, costed, index)), collectives(stageCollectives(plan, costed, index)) {
    addUp();
  }

  void print(llvm::raw_ostream &out) const {
    printHeader(out);
    printSeconds(out);
    printMemory(out);
    if (!collectives.empty()) {
      out << "\n  collectives\n";
      collectiveTable(collectives).print(out, 4);
    }
    out << "\n  costliest ops of " << ops.size() << "\n";
    opTable(llvm::ArrayRef(ops).take_front(kMostOps), plan).print(out, 4);
  }

  Json toJson() const {
    Json json{{"schema", "dtc.explanation/1"},
              {"stage", index},
              {"chunks", stage.chunks},
              {"ranks", stage.ranks},
              {"forward_s", stage.forwardSeconds},
              {"backward_input_s", stage.backwardInputSeconds},
              {"backward_weight_s", stage.backwardWeightSeconds}};
    json["step"] = Json::object();
    for (auto [key, name, value] : rows())
      json["step"][key] = value;
    json["memory"] = Json::object();
    for (const MemoryPart &part : memoryParts())
      json["memory"][part.name] = stage.memory.*part.bytes;
    json["peak_memory_bytes"] = stage.peakMemoryBytes;
    json["in_flight"] = stage.inFlight;
    json["kept_bytes"] = stage.keptBytes;
    json["collectives"] = Json::array();
    for (const StageCollective &collective : collectives)
      json["collectives"].push_back(collectiveToJson(collective));
    json["ops"] = Json::array();
    for (const StageOp &op : ops)
      json["ops"].push_back(opToJson(op, plan));
    return json;
  }

private:
  struct Row {
    const char *key, *name;
    double seconds;
  };
  std::vector<Row> rows() const {
    return {{"products_s", "matrix products", sums.products},
            {"attention_s", "attention", sums.attention},
            {"memory_bound_s", "other ops", sums.memoryBound},
            {"other_s", "launches, slowdown beside collectives", sums.other},
            {"exposed_layers_s", "exposed collectives of layers", sums.exposedLayers},
            {"exposed_gradients_s", "exposed collectives of gradients", sums.exposedGradients},
            {"optimizer_s", "optimizer", sums.optimizer},
            {"waiting_s", "waiting for other stages", sums.waiting}};
  }

  void addUp() {
    for (const StageOp &each : ops)
      (each.op->work.kind == WorkKind::Product     ? sums.products
       : each.op->work.kind == WorkKind::Attention ? sums.attention
                                                   : sums.memoryBound) += each.stepSeconds();
    // The rest of the planner's sum beyond the ops.
    sums.other = stage.computeSeconds - sums.products - sums.attention - sums.memoryBound;
    sums.exposedGradients = stage.gradientSeconds;
    sums.exposedLayers = std::max(0.0, stage.exposedCommSeconds - stage.gradientSeconds);
    sums.optimizer = stage.optimizerSeconds;
    sums.waiting = std::max(0.0, plan.predicted.stepSeconds - stage.computeSeconds -
                                     stage.exposedCommSeconds - sums.optimizer);
  }

  void printHeader(llvm::raw_ostream &out) const {
    out << "stage " << index << " of " << plan.stages.size() << ": ";
    std::string layers;
    for (auto [first, last] : stage.chunks)
      layers +=
          (layers.empty() ? "" : ", ") +
          (first > last ? "none"
                        : std::to_string(first) + (last > first ? "-" + std::to_string(last) : ""));
    out << "layers " << layers;
    for (const CostedPart &part : costed.parts)
      if (!part.isLayer && layersOn(part, plan, index) > 0)
        out << ", " << part.name;
    out << "; ranks " << rangesText(stage.ranks) << "\n\n";
    out << "  one micro-batch     " << seconds(stage.forwardSeconds) << " forward, "
        << seconds(stage.backwardInputSeconds) << " backward, "
        << seconds(stage.backwardWeightSeconds) << " gradients of weights; "
        << counted(plan.decisions.numMicroBatches, "time") << " a step\n\n";
  }

  void printSeconds(llvm::raw_ostream &out) const {
    out << "  a step              " << seconds(plan.predicted.stepSeconds) << "\n";
    Table table({"", "seconds", "share"});
    for (const Row &row : rows())
      if (std::abs(row.seconds) >= 5e-4 * plan.predicted.stepSeconds)
        table.addRow(
            {row.name, seconds(row.seconds), percent(row.seconds, plan.predicted.stepSeconds)});
    table.print(out, 4);
  }

  void printMemory(llvm::raw_ostream &out) const {
    out << "\n  memory of a device  " << bytes(stage.peakMemoryBytes) << "\n";
    Table table({"", "bytes", "share", ""});
    for (const MemoryPart &part : memoryParts()) {
      int64_t value = stage.memory.*part.bytes;
      if (value == 0)
        continue;
      bool isActivations = part.bytes == &PlanMemory::activations;
      table.addRow({part.name, bytes(value),
                    percent(static_cast<double>(value), static_cast<double>(stage.peakMemoryBytes)),
                    isActivations ? bytes(stage.keptBytes) + " a micro-batch, " +
                                        number(stage.inFlight, 4) + " in flight"
                                  : ""});
    }
    table.print(out, 4);
  }

  const Plan &plan;
  const CostedPlan &costed;
  size_t index;
  const PlanStage &stage;
  std::vector<StageOp> ops;
  std::vector<StageCollective> collectives;
  StageSeconds sums;
};

} // namespace

Status explainStage(llvm::raw_ostream &out, const ExplainRequest &request, int64_t stage) {
  int64_t count = static_cast<int64_t>(request.plan.stages.size());
  if (stage < 0 || stage >= count)
    return UserError("explaining stage " + std::to_string(stage) + ": the plan has " +
                         counted(count, "stage"),
                     "stages are counted from 0");
  StageExplainer explainer(request, static_cast<size_t>(stage));
  printExplained(out, explainer, request.json);
  return {};
}

} // namespace dtc
