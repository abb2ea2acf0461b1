// Parameters of a plan: where they are, who reads them, and the collectives that they cause.
#include "compiler/show/explain/ExplainTensor.h"

#include "compiler/decide/plan/ApplyPlan.h"
#include "compiler/decide/plan/PlacementText.h"
#include "compiler/price/cost/CollectiveCost.h"
#include "compiler/price/estimate/Buckets.h"
#include "compiler/price/estimate/GradientCollectives.h"
#include "compiler/show/explain/ExplainParts.h"
#include "compiler/show/explain/Figures.h"
#include "compiler/show/explain/TensorGroups.h"
#include "passes/graph/HiddenMatrices.h"
#include "passes/shard/Mesh.h"

#include "dialects/graph/Graph.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

namespace dtc {
namespace {

using namespace figures;

constexpr size_t kMostTensors = 8;

std::string shapeText(llvm::ArrayRef<int64_t> shape) {
  std::vector<std::string> dims;
  for (int64_t size : shape)
    dims.push_back(std::to_string(size));
  return "[" + llvm::join(dims, ", ") + "]";
}

int64_t sizeOf(const Plan &plan, llvm::StringRef axis) {
  return axis == "dp"   ? plan.decisions.zeroRanks() // ranks that ZeRO-3 shards it over
         : axis == "tp" ? plan.decisions.tp
         : axis == "cp" ? plan.decisions.cp
         : axis == "ep" ? plan.decisions.ep
                        : 1;
}

// A collective of a layer beside an op that reads the tensor.
struct TensorCollective {
  const CostedPart *part;
  const CostedCollective *collective;
  const CostedOp *op;
};

class TensorExplainer {
public:
  TensorExplainer(const ExplainRequest &request, const TensorGroup &group)
      : plan(request.plan), costed(request.costed), group(group) {
    findShape(request.model);
    findReaders();
    measure();
  }

  void print(llvm::raw_ostream &out) const {
    out << group.pattern << ", " << shapeText(whole)
        << (group.count > 1 ? " in each of " + counted(group.count, "layer") : std::string())
        << "\n";
    printPlacement(out);
    printReaders(out);
    printCollectives(out);
  }

  Json toJson() const {
    Json json{{"tensor", group.pattern},
              {"count", group.count},
              {"shape", whole},
              {"local_shape", local},
              {"parameter_bytes", parameterBytes},
              {"gradient_bytes", gradientBytes},
              {"optimizer_bytes", optimizerBytes}};
    if (isFrozen)
      json["frozen"] = true;
    json["placements"] = Json::object();
    for (const auto &[axis, placement] : group.placements)
      json["placements"][axis] = placement;
    json["readers"] = Json::array();
    for (const StageOp &reader : readersWithWork())
      json["readers"].push_back(opToJson(reader, plan));
    json["collectives"] = Json::array();
    for (const StageCollective &each : collectives())
      json["collectives"].push_back(collectiveToJson(each));
    return json;
  }

private:
  // Shapes of the whole tensor and of a rank's part; ZeRO-3 cuts the first dim of the latter.
  void findShape(mlir::ModuleOp model) {
    for (auto parameter : model.getOps<graph::ParameterOp>()) {
      std::string name = parameter.getSymName().str();
      if (name != group.pattern && layerPattern(name) != group.pattern &&
          !llvm::is_contained(parameter.getMemberNames(), group.pattern))
        continue;
      isFrozen = parameter.getFrozen();
      isMatrix = hiddenMatricesOf(model).contains(parameter.getSymName());
      auto type = mlir::cast<mlir::RankedTensorType>(parameter.getType());
      whole.assign(type.getShape().begin(), type.getShape().end());
      break;
    }
    local = whole;
    Mesh mesh = stageMesh(model, plan.decisions);
    for (const auto &[axis, placement] : group.placements) {
      llvm::SmallVector<int64_t, 2> sizes{sizeOf(plan, axis)};
      if (axis == "tp") {
        sizes.clear();
        for (unsigned each : mesh.axesOf(AxisRole::Tensor))
          sizes.push_back(mesh.sizes[each]);
      }
      if (std::optional<llvm::SmallVector<int64_t, 2>> dims =
              placementDimsOf(placement, sizes.size()))
        for (auto [dim, parts] : llvm::zip(*dims, sizes))
          divide(dim, parts, axis);
    }
  }

  void divide(int64_t dim, int64_t parts, llvm::StringRef axis) {
    if (dim < 0 || dim >= static_cast<int64_t>(local.size()))
      return;
    int64_t &size = local[static_cast<size_t>(dim)];
    size = (size + parts - 1) / parts;
    isExpert |= axis == "ep" && (parts > 1 || plan.decisions.spreadsExperts('t'));
    if (axis != "dp")
      elementsDivided *= static_cast<double>(parts);
  }

  void findReaders() {
    for (const CostedPart &part : costed.parts)
      for (const CostedOp &op : part.ops) {
        if (op.parameter != group.pattern && layerPattern(op.parameter) != group.pattern)
          continue;
        StageOp best{&part, &op, 0, 0};
        for (size_t stage = 0; stage < plan.stages.size(); ++stage)
          if (double runs = runsOf(part, op.runsAgain, plan, stage); runs > best.runs)
            best = {&part, &op, stage, runs};
        readers.push_back(best);
      }
  }

  // Bytes of one such tensor on a rank, as the planner counts them.
  void measure() {
    const CellPrecision &p = costed.precision;
    double elements = 1;
    for (int64_t size : whole)
      elements *= static_cast<double>(size);
    elements /= elementsDivided;
    onRank = elements;
    const Decisions &d = plan.decisions;
    double replicas = static_cast<double>(isExpert ? d.zeroRanksOfExpert() : d.zeroRanks() * d.cp);
    auto held = [&](double bytesEach, bool isDivided) {
      return std::llround(elements * bytesEach / (isDivided ? replicas : 1));
    };
    if (isFrozen) {
      parameterBytes = held(p.frozenBytesAtRest(d.zero), d.zero >= 3);
      return;
    }
    parameterBytes = held(p.bytesAtRest(d.zero, d.offloadOptimizer), d.zero >= 3);
    gradientBytes = held(p.gradientBytes, plan.decisions.zero >= 2);
    optimizerBytes = plan.decisions.offloadOptimizer
                         ? 0
                         : held(p.optimizerBytes + (isMatrix ? 0 : p.otherStateBytes), d.zero >= 1);
  }

  std::string groupsText() const {
    int64_t copies = plan.decisions.dp / plan.decisions.zeroRanks();
    return copies > 1 ? " x " + std::to_string(copies) + " groups" : "";
  }

  void printPlacement(llvm::raw_ostream &out) const {
    std::vector<std::string> axes;
    for (const auto &[axis, placement] : group.placements)
      if (sizeOf(plan, axis) > 1)
        axes.push_back(axis + "=" + std::to_string(sizeOf(plan, axis)) +
                       (axis == "dp" ? groupsText() : "") + " " + placement);
    out << "  placement   " << (axes.empty() ? "whole on every rank" : llvm::join(axes, ", "));
    if (!axes.empty())
      out << "; a rank has " << shapeText(local);
    out << "\n  bytes       ";
    std::string zero =
        plan.decisions.zero == 0 ? "" : " (ZeRO " + std::to_string(plan.decisions.zero) + ")";
    out << bytes(parameterBytes) << " parameter, " << bytes(gradientBytes) << " gradient, "
        << bytes(optimizerBytes) << " optimizer states a rank" << zero
        << (isFrozen                          ? ", frozen"
            : plan.decisions.offloadOptimizer ? ", states on the host"
                                              : "")
        << (group.count > 1 ? ", in each layer" : "") << "\n";
  }

  void printReaders(llvm::raw_ostream &out) const {
    out << "\n  read by, or made by the gradient\n";
    opTable(readersWithWork(), plan).print(out, 4);
    if (readersWithWork().size() < readers.size())
      out << "    the rest is done with that of other parameters, in one op\n";
  }

  std::vector<StageOp> readersWithWork() const {
    std::vector<StageOp> list = readers;
    llvm::erase_if(list, [](const StageOp &each) { return each.op->isDoneByAnother(); });
    return list;
  }

  std::vector<StageCollective> collectives() const {
    std::vector<StageCollective> list;
    for (const CostedPart &part : costed.parts)
      for (const CostedCollective &each : part.collectives) {
        // The first op that both it and the tensor are of.
        auto reader = llvm::find_if(readers, [&](const StageOp &op) {
          return op.part == &part && llvm::is_contained(each.of, op.op - part.ops.data());
        });
        if (reader == readers.end())
          continue;
        bool gathers = each.kind == CollectiveKind::AllGather;
        list.push_back({(gathers ? "before " : "after ") + reader->op->name + ", " +
                            nameOf(reader->op->phase).str(),
                        each.axis, ranksText(each.ranks, costed.topology), each.kind, each.bytes,
                        each.choice, reader->runs, reader->runs * each.choice.seconds,
                        each.exposedShare * reader->runs * each.choice.seconds});
      }
    addReplicas(list);
    return list;
  }

  // Adds the collectives that keep replicas equal. Small tensors share a bucket with others.
  void addReplicas(std::vector<StageCollective> &list) const {
    const CellPrecision &p = costed.precision;
    ShardGroups groups(costed.groups, plan.decisions);
    const RankGroup &shards = isExpert ? groups.expertShards : groups.denseShards,
                    &copies = isExpert ? groups.expertCopies : groups.denseCopies;
    std::string axis = replicaAxes(plan.decisions, isExpert);
    auto addAmong = [&](const RankGroup &ranks, const char *what, CollectiveKind kind, double bytes,
                        double runs) {
      CollectiveChoice choice = explainCollective(kind, bytes, ranks, costed.topology);
      if (choice.seconds > 0)
        list.push_back({what, axis, ranksText(ranks, costed.topology), kind, bytes, choice, runs,
                        runs * choice.seconds, std::nullopt});
    };
    auto add = [&](const char *what, CollectiveKind kind, double bytesEach, double runs) {
      addAmong(shards, what, kind, onRank * bytesEach, runs);
    };
    double microBatches = static_cast<double>(plan.decisions.numMicroBatches);
    if (!isFrozen) {
      if (plan.decisions.zero == 0)
        add("gradient, with others", CollectiveKind::AllReduce, p.reduceBytes, 1);
      else
        add(plan.decisions.zero == 1 ? "gradient, with others" : "gradient, every micro-batch",
            CollectiveKind::ReduceScatter, p.reduceBytes,
            plan.decisions.zero == 1 ? 1 : microBatches);
      addAmong(copies, "gradient, between groups", CollectiveKind::AllReduce,
               onRank * p.reduceBytes / ranksOf(shards), 1);
      if (plan.decisions.zero == 1 || plan.decisions.zero == 2)
        add("parameter after the update", CollectiveKind::AllGather, p.parameterBytes, 1);
    }
    if (plan.decisions.zero >= 3)
      add("parameter, before forward and backward", CollectiveKind::AllGather, p.parameterBytes,
          2 * microBatches);
  }

  void printCollectives(llvm::raw_ostream &out) const {
    std::vector<StageCollective> list = collectives();
    if (list.empty()) {
      out << "\n  it causes no collective\n";
      return;
    }
    out << "\n  collectives, as if each were sent alone"
        << (group.count > 1 ? "; 'runs' of those of replicas are of one layer" : "") << "\n";
    collectiveTable(list).print(out, 4);
  }

  const Plan &plan;
  const CostedPlan &costed;
  const TensorGroup &group;
  std::vector<int64_t> whole, local;
  std::vector<StageOp> readers;
  bool isExpert = false, isFrozen = false, isMatrix = false;
  double elementsDivided = 1; // product of the axes other than that of ZeRO-3
  double onRank = 0;          // elements, before ZeRO divides them
  int64_t parameterBytes = 0, gradientBytes = 0, optimizerBytes = 0;
};

// Finds tensors by name or by the pattern of their layer; else all whose pattern contains the name.
std::vector<TensorGroup> findTensors(const Plan &plan, const std::string &name) {
  std::vector<TensorGroup> found, containing;
  auto named = plan.tensors.find(name);
  for (const TensorGroup &group : groupTensors(plan)) {
    bool isIt = group.pattern == name ||
                (named != plan.tensors.end() && group.pattern == layerPattern(name) &&
                 group.placements == named->second);
    if (isIt)
      found.push_back(group);
    else if (llvm::StringRef(group.pattern).contains(name))
      containing.push_back(group);
  }
  return found.empty() ? containing : found;
}

} // namespace

Status explainTensor(llvm::raw_ostream &out, const ExplainRequest &request,
                     const std::string &name) {
  std::vector<TensorGroup> groups = findTensors(request.plan, name);
  if (groups.empty()) {
    std::vector<std::string> patterns;
    for (const TensorGroup &group : groupTensors(request.plan))
      patterns.push_back(group.pattern);
    std::vector<llvm::StringRef> known(patterns.begin(), patterns.end());
    std::string nearest = nearestName(name, known);
    return UserError("explaining tensor '" + name + "': the plan has none of that name" +
                         (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"),
                     "'dtc inspect plan.json --format json' lists them under 'tensors'");
  }
  if (groups.size() > kMostTensors)
    return UserError("explaining tensor '" + name + "': " + std::to_string(groups.size()) +
                         " kinds of tensors have that in their names",
                     "give more of the name, such as '" + groups.front().pattern + "'");
  Json json{{"schema", "dtc.explanation/1"}, {"tensors", Json::array()}};
  for (size_t index = 0; index < groups.size(); ++index) {
    TensorExplainer explainer(request, groups[index]);
    if (request.json) {
      json["tensors"].push_back(explainer.toJson());
      continue;
    }
    out << (index > 0 ? "\n" : "");
    explainer.print(out);
  }
  if (request.json)
    printJson(out, json);
  return {};
}

} // namespace dtc
