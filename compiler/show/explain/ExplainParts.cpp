// Texts that the explanations of stages, ops and tensors share.
#include "compiler/show/explain/ExplainParts.h"

#include "compiler/price/cost/OpCost.h"
#include "compiler/show/explain/Figures.h"

#include "llvm/ADT/STLExtras.h"

namespace dtc {

using namespace figures;

std::vector<StageOp> opsOfStage(const Plan &plan, const CostedPlan &costed, size_t stage) {
  std::vector<StageOp> ops;
  for (const CostedPart &part : costed.parts)
    for (const CostedOp &op : part.ops)
      if (double runs = runsOf(part, op.runsAgain, plan, stage); runs > 0 && !op.isDoneByAnother())
        ops.push_back({&part, &op, stage, runs});
  llvm::sort(ops, [](const StageOp &a, const StageOp &b) {
    return std::tuple(-a.stepSeconds(), a.part, a.op) < std::tuple(-b.stepSeconds(), b.part, b.op);
  });
  return ops;
}

size_t slowestStage(const Plan &plan) {
  auto seconds = [](const PlanStage &stage) {
    return stage.forwardSeconds + stage.backwardInputSeconds + stage.backwardWeightSeconds;
  };
  size_t slowest = 0;
  for (size_t stage = 0; stage < plan.stages.size(); ++stage)
    if (seconds(plan.stages[stage]) > seconds(plan.stages[slowest]))
      slowest = stage;
  return slowest;
}

llvm::StringRef nameOf(CellPhase phase) {
  return phase == CellPhase::Forward         ? "forward"
         : phase == CellPhase::BackwardInput ? "backward"
                                             : "weight gradient";
}

llvm::StringRef boundOf(const CostedOp &op) {
  double compute = op.terms.computeSeconds, memory = op.terms.memorySeconds;
  double launch = op.joined ? 0 : op.terms.launchSeconds;
  return launch > std::max(compute, memory) ? "launch" : compute >= memory ? "compute" : "memory";
}

double peakShareOf(const CostedOp &op) {
  if (op.work.kind == WorkKind::Memory || op.seconds <= 0 || op.terms.peakFlops <= 0)
    return 0;
  return op.work.flops / op.seconds / op.terms.peakFlops;
}

std::string sizesText(const OpWork &work) {
  if (work.kind == WorkKind::Memory)
    return "";
  std::string text =
      std::to_string(work.m) + " x " + std::to_string(work.n) + " x " + std::to_string(work.k);
  return work.batch > 1 ? std::to_string(work.batch) + " of " + text : text;
}

std::string flopsText(double flops) {
  constexpr const char *units[] = {" FLOP", " kFLOP", " MFLOP", " GFLOP", " TFLOP", " PFLOP"};
  size_t unit = 0;
  while (flops >= 1000 && unit + 1 < std::size(units)) {
    flops /= 1000;
    ++unit;
  }
  return number(flops) + units[unit];
}

Json opToJson(const StageOp &each, const Plan &plan) {
  const CostedOp &op = *each.op;
  const OpTerms &terms = op.terms;
  Json json{{"part", each.part->name},
            {"op", op.name},
            {"parameter", op.parameter},
            {"phase", nameOf(op.phase).str()},
            {"flops", op.work.flops},
            {"bytes", op.work.bytes},
            {"seconds", op.seconds},
            {"compute_s", terms.computeSeconds},
            {"memory_s", terms.memorySeconds},
            {"launch_s", op.joined ? 0 : terms.launchSeconds},
            {"software_share", op.softwareShare},
            {"bound_by", boundOf(op).str()},
            {"joined", op.joined},
            {"measured", terms.measured},
            {"stage", each.stage},
            {"runs", each.runs},
            {"step_s", each.stepSeconds()},
            {"step_share", each.stepSeconds() / plan.predicted.stepSeconds}};
  if (op.work.kind == WorkKind::Memory)
    return json;
  json["m"] = op.work.m;
  json["n"] = op.work.n;
  json["k"] = op.work.k;
  json["batch"] = op.work.batch;
  json["peak_flops_per_s"] = terms.peakFlops;
  json["peak_share"] = peakShareOf(op);
  json["sustained"] = terms.sustained;
  if (op.work.kind == WorkKind::Product) {
    json["tile"] = {terms.tileM, terms.tileN};
    json["tile_efficiency"] = terms.tileEfficiency;
    json["tile_use"] = terms.tileUse;
    json["waves"] = terms.waves;
    json["wave_use"] = terms.waveUse;
    json["depth_use"] = terms.depthUse;
    json["aligned_use"] = terms.alignedUse;
    json["k_parts"] = terms.parts;
  }
  return json;
}

Json collectiveToJson(const StageCollective &each) {
  Json json{{"what", each.what},
            {"axis", each.axis},
            {"ranks", each.ranks},
            {"kind", nameOf(each.kind).str()},
            {"bytes", each.bytes},
            {"algorithm", each.choice.algorithm.str()},
            {"protocol", each.choice.protocol.str()},
            {"seconds", each.choice.seconds},
            {"runs", each.runs},
            {"step_s", each.stepSeconds}};
  json["exposed_s"] = each.exposedSeconds ? Json(*each.exposedSeconds) : Json();
  return json;
}

Table opTable(llvm::ArrayRef<StageOp> ops, const Plan &plan) {
  Table table({"part", "op", "parameter", "pass", "m x n x k", "one takes", "bound by", "of peak",
               "runs", "a step", "of the step"});
  for (const StageOp &each : ops) {
    const CostedOp &op = *each.op;
    bool isProduct = op.work.kind != WorkKind::Memory;
    table.addRow({each.part->name, op.name, op.parameter, nameOf(op.phase).str(),
                  sizesText(op.work), seconds(op.seconds), boundOf(op).str(),
                  isProduct ? percent(peakShareOf(op), 1) : "", number(each.runs, 9),
                  seconds(each.stepSeconds()),
                  percent(each.stepSeconds(), plan.predicted.stepSeconds)});
  }
  return table;
}

Table collectiveTable(llvm::ArrayRef<StageCollective> collectives) {
  Table table({"collective", "", "axis", "ranks", "bytes", "algorithm", "one takes", "runs",
               "a step", "exposed"});
  for (const StageCollective &each : collectives) {
    std::string algorithm = each.choice.algorithm.str();
    if (!each.choice.protocol.empty())
      algorithm += ", " + each.choice.protocol.str();
    table.addRow({each.what, nameOf(each.kind).str(), each.axis, each.ranks,
                  bytes(static_cast<int64_t>(each.bytes)), algorithm, seconds(each.choice.seconds),
                  number(each.runs, 9), seconds(each.stepSeconds),
                  each.exposedSeconds ? seconds(*each.exposedSeconds) : ""});
  }
  return table;
}

void printJson(llvm::raw_ostream &out, const Json &json) {
  out << json.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
}

} // namespace dtc
