#include "compiler/show/explain/ExplainExperts.h"

#include "compiler/describe/stack/LoadStack.h"
#include "compiler/price/cost/MeshGroups.h"
#include "compiler/price/cost/OpCost.h"
#include "compiler/show/explain/ExplainParts.h"
#include "compiler/show/explain/Figures.h"
#include "compiler/support/Table.h"

#include <array>
#include <cmath>

namespace dtc {
namespace {

using namespace figures;

constexpr std::array<double, 3> kImbalances = {1.0, 1.3, 2.0};

bool isOfExperts(const CostedOp &op) {
  llvm::StringRef name = op.name;
  return op.work.kind == WorkKind::Product &&
         (name.starts_with("grouped_linear") || name.starts_with("expert_linear"));
}

// Returns true if rows go to experts here, and not back from them.
bool isDispatch(llvm::StringRef op) { return op == "pack_rows" || op == "moe_dispatch"; }

// The layers of one kind with experts.
struct ExpertLayers {
  const CostedPart *part = nullptr;
  int64_t layers = 0, experts = 0;
  double rows = 0, room = 0, most = 0; // of a rank, in a micro-batch; room in one round
  double dispatch = 0, combine = 0;    // bytes that a rank sends for one of them, in one pass
  double sentOfStep = 0;               // bytes that a rank sends in a step for all of its layers
  bool dropsRows = false;              // what is beyond the room of an expert
};

class ExpertExplainer {
public:
  ExpertExplainer(const ExplainRequest &request, size_t stage)
      : plan(request.plan), costed(request.costed), stage(stage),
        isOwn(plan.origin.software == kOwnStack) {
    for (const CostedPart &part : costed.parts)
      if (part.isLayer && layersOn(part, plan, stage) > 0)
        add(part);
  }

  bool empty() const { return layers.empty(); }

  void print(llvm::raw_ostream &out) const {
    out << "stage " << stage << ", one micro-batch on a rank, ep=" << plan.decisions.ep << "\n\n";
    Table table({"part", "layers", "experts", "rows, mean", "room", "dispatch", "combine",
                 "sent in a step"});
    for (const ExpertLayers &each : layers)
      table.addRow({each.part->name, std::to_string(each.layers), std::to_string(each.experts),
                    number(each.rows, 6), number(each.room, 6), sent(each.dispatch),
                    sent(each.combine), sent(each.sentOfStep)});
    table.print(out, 2);
    out << "\n";
    Table costs({"rows of the fullest rank", "", "a step", "more"});
    for (double imbalance : kImbalances)
      costs.addRow({number(imbalance, 2) + " x mean", number(rowsAt(imbalance), 6),
                    seconds(plan.predicted.stepSeconds + cost(imbalance)),
                    percent(cost(imbalance), plan.predicted.stepSeconds)});
    costs.print(out, 2);
    out << "\n  " << note() << "\n";
  }

  Json toJson() const {
    Json json{{"schema", "dtc.explanation/1"}, {"stage", stage}, {"ep", plan.decisions.ep}};
    json["experts"] = Json::array();
    for (const ExpertLayers &each : layers)
      json["experts"].push_back({{"part", each.part->name},
                                 {"layers", each.layers},
                                 {"experts", each.experts},
                                 {"rows", each.rows},
                                 {"room", each.room},
                                 {"dispatch_bytes", each.dispatch},
                                 {"combine_bytes", each.combine},
                                 {"step_bytes", each.sentOfStep}});
    json["imbalance"] = Json::array();
    for (double imbalance : kImbalances)
      json["imbalance"].push_back({{"factor", imbalance},
                                   {"rows", rowsAt(imbalance)},
                                   {"rounds", roundsAt(imbalance)},
                                   {"step_s", plan.predicted.stepSeconds + cost(imbalance)},
                                   {"added_s", cost(imbalance)}});
    return json;
  }

private:
  static std::string sent(double value) { return bytes(std::llround(value)); }

  void add(const CostedPart &part) {
    ExpertLayers found;
    found.part = &part;
    found.layers = layersOn(part, plan, stage);
    for (const CostedOp &op : part.ops)
      if (isOfExperts(op) && op.phase == CellPhase::Forward && found.experts == 0) {
        found.experts = op.work.batch;
        found.rows = static_cast<double>(op.work.batch * op.work.m);
        found.dropsRows = llvm::StringRef(op.name).starts_with("expert_linear");
      }
    if (found.experts == 0)
      return;
    // Without expert_room there is room for any routing: all rows of the ranks of ep may be of one
    // rank. With it the rows of a rank are those of all rounds.
    found.most = found.room = found.rows;
    if (isOwn && !found.dropsRows) {
      found.rows /= roomFactor() / ranksOfExperts();
      found.room = found.rows * roomFactor();
      found.most = found.rows * ranksOfExperts();
    }
    for (const CostedCollective &each : part.collectives) {
      if (each.axis != "ep")
        continue;
      double ranks = ranksOf(each.ranks), bytesSent = each.bytes * (ranks - 1) / ranks;
      found.sentOfStep += bytesSent * runsOf(part, each.runsAgain, plan, stage);
      if (each.phase != CellPhase::Forward || each.of.empty())
        continue;
      const CostedOp &op = part.ops[static_cast<size_t>(each.of.front())];
      (isDispatch(op.name) ? found.dispatch : found.combine) += bytesSent;
    }
    layers.push_back(found);
  }

  double ranksOfExperts() const { return static_cast<double>(plan.decisions.ep); }

  // Returns the rows for which there is room in a round over the mean of a rank.
  double roomFactor() const {
    double room = static_cast<double>(plan.decisions.expertRoomPerMille) / 1000;
    return room == 0 ? ranksOfExperts() : std::min(room, ranksOfExperts());
  }

  // Returns the rounds that have rows where the fullest rank has so many times the mean.
  int64_t roundsAt(double imbalance) const {
    return isOwn && isUneven() ? static_cast<int64_t>(std::ceil(
                                     std::min(imbalance, ranksOfExperts()) / roomFactor()))
                               : 1;
  }

  double rowsAt(double imbalance) const {
    const ExpertLayers &first = layers.front();
    double rows = first.rows * (isUneven() ? imbalance : 1);
    return first.dropsRows ? first.room : std::min(rows, isOwn ? first.most : rows);
  }

  // Ranks that have all experts have as many rows each, however these are spread.
  bool isUneven() const { return plan.decisions.ep > 1; }

  // Returns the seconds that a step takes longer where the fullest rank has so many times the mean.
  double cost(double imbalance) const {
    if (!isUneven())
      return 0;
    double added = 0;
    for (const ExpertLayers &each : layers) {
      if (each.dropsRows)
        continue;
      double factor = isOwn ? std::min(imbalance, each.most / each.rows) : imbalance;
      for (const CostedOp &op : each.part->ops)
        if (isOfExperts(op) && op.seconds > 0)
          added +=
              op.seconds * (growth(op, factor) - 1) * runsOf(*each.part, op.runsAgain, plan, stage);
      // Programs send all of the room. Other software sends the rows that there are.
      for (const CostedCollective &collective : each.part->collectives)
        if (collective.axis == "ep" && !isOwn)
          added += collective.choice.seconds * collective.exposedShare * (factor - 1) *
                   runsOf(*each.part, collective.runsAgain, plan, stage);
    }
    return added;
  }

  // Returns how many times as long a product of experts takes with so many times the rows.
  double growth(const CostedOp &op, double factor) const {
    OpWork more = op.work;
    bool sumsRows = llvm::StringRef(op.name).ends_with("weight_grad");
    int64_t &rows = sumsRows ? more.k : more.m;
    rows = std::llround(static_cast<double>(rows) * factor);
    more.flops *= factor;
    const DeviceKind &device = costed.topology.device;
    return secondsOf(more, device) / secondsOf(op.work, device);
  }

  std::string note() const {
    if (layers.front().dropsRows)
      return "experts have a capacity, and drop what is beyond it: uneven use takes no longer";
    if (!isUneven())
      return "each rank has all experts, and as many rows however they are spread";
    return isOwn ? plan.decisions.expertRoomPerMille > 0
                       ? "rows beyond the mean take longer to multiply; rows beyond the room go in "
                         "further rounds, all of which run in each step"
                       : "rows beyond the mean take longer to multiply; room and bytes are for any "
                         "routing"
                 : "rows beyond the mean take longer to send and to multiply";
  }

  const Plan &plan;
  const CostedPlan &costed;
  size_t stage;
  bool isOwn; // programs of dtc's
  std::vector<ExpertLayers> layers;
};

} // namespace

Status explainExperts(llvm::raw_ostream &out, const ExplainRequest &request, size_t stage) {
  size_t count = request.plan.stages.size();
  if (stage >= count)
    return UserError("explaining stage " + std::to_string(stage) + ": the plan has " +
                         counted(static_cast<int64_t>(count), "stage"),
                     "stages are counted from 0");
  ExpertExplainer explainer(request, stage);
  if (explainer.empty())
    return UserError("explaining experts: the layers of stage " + std::to_string(stage) +
                         " have none",
                     "leave out --experts, or give another --stage");
  printExplained(out, explainer, request.json);
  return {};
}

} // namespace dtc
