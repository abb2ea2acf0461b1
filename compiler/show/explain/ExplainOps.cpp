// Ops of a plan: their sizes, and their seconds term by term.
#include "compiler/show/explain/ExplainOps.h"

#include "compiler/price/cost/OpCost.h"
#include "compiler/show/explain/ExplainParts.h"
#include "compiler/show/explain/Figures.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>
#include <set>

namespace dtc {
namespace {

using namespace figures;

// Ops that are explained term by term; of more, the costliest.
constexpr size_t kMostDetails = 8;

std::string labelOf(const CostedOp &op) {
  return op.parameter.empty() ? op.name : op.name + " " + op.parameter;
}

// Each matching op once, on the stage that spends most on it; the costliest first. Leaves out ops
// whose work is done by others.
std::vector<StageOp> findOps(const ExplainRequest &request, const std::string &pattern) {
  std::vector<StageOp> found;
  for (const CostedPart &part : request.costed.parts)
    for (const CostedOp &op : part.ops) {
      if (!llvm::StringRef(labelOf(op)).contains(pattern))
        continue;
      StageOp best{&part, &op, 0, 0};
      for (size_t stage = 0; stage < request.plan.stages.size(); ++stage)
        if (double runs = runsOf(part, op.runsAgain, request.plan, stage); runs > best.runs)
          best = {&part, &op, stage, runs};
      if (best.runs > 0)
        found.push_back(best);
    }
  // A name that matches nothing else is still found.
  auto isDoneByAnother = [](const StageOp &each) { return each.op->isDoneByAnother(); };
  if (!llvm::all_of(found, isDoneByAnother))
    llvm::erase_if(found, isDoneByAnother);
  llvm::sort(found, [](const StageOp &a, const StageOp &b) {
    return std::tuple(-a.stepSeconds(), a.part, a.op) < std::tuple(-b.stepSeconds(), b.part, b.op);
  });
  return found;
}

UserError noneMatches(const ExplainRequest &request, const std::string &pattern) {
  std::set<std::string> names;
  for (const CostedPart &part : request.costed.parts)
    for (const CostedOp &op : part.ops)
      names.insert(op.name);
  std::vector<llvm::StringRef> known(names.begin(), names.end());
  std::string nearest = nearestName(pattern, known);
  return UserError("explaining ops: none of the plan is called '" + pattern + "'" +
                       (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"),
                   "an op matches by its name or its parameter's; names are " +
                       llvm::join(names, ", "));
}

// "launch 4 us + the larger of compute 57 us and memory 25 us, at 80 % of which ..."
std::string formulaOf(const CostedOp &op) {
  const OpTerms &terms = op.terms;
  std::string text = "launch " + seconds(terms.launchSeconds);
  if (op.work.kind == WorkKind::Memory)
    text += " + memory " + seconds(terms.memorySeconds);
  else
    text += " + the larger of compute " + seconds(terms.computeSeconds) + " and memory " +
            seconds(terms.memorySeconds);
  if (op.softwareShare != 1)
    text += ", of whose rate the software's kernel reaches " + percent(op.softwareShare, 1);
  if (op.joined)
    text += ", less the launch, as it is joined to the op before it";
  double whole = (terms.launchSeconds + std::max(terms.computeSeconds, terms.memorySeconds)) /
                     op.softwareShare -
                 (op.joined ? terms.launchSeconds : 0);
  if (std::abs(op.seconds - whole) > 1e-3 * op.seconds)
    text += terms.measured ? "; measured curves make it " + seconds(op.seconds)
                           : "; " + signedSeconds(op.seconds - whole) +
                                 " for casts, scores in memory or uneven experts";
  return text;
}

// Lists the factors by which a matmul is below the peak.
std::string efficiencyOf(const CostedOp &op) {
  const OpTerms &terms = op.terms;
  std::string text = percent(terms.sustained, 1) + " sustained";
  if (op.work.kind == WorkKind::Attention)
    return text + " for this sequence and head";
  text += " x " + percent(terms.tileEfficiency, 1) + " with tiles of " +
          std::to_string(terms.tileM) + " x " + std::to_string(terms.tileN) + " x " +
          percent(terms.tileUse, 1) + " of the tiles used x " + percent(terms.waveUse, 1) + " of " +
          counted(std::llround(terms.waves), "wave") + " x " + percent(terms.depthUse, 1) +
          " for the depth";
  if (terms.alignedUse < 1)
    text += " x " + percent(terms.alignedUse, 1) + " as n or k is not a multiple of 8";
  if (terms.parts > 1)
    text += ", k in " + number(terms.parts) + " parts";
  return text;
}

void printDetails(llvm::raw_ostream &out, const StageOp &each, const Plan &plan) {
  const CostedOp &op = *each.op;
  bool isMemory = op.work.kind == WorkKind::Memory;
  out << "\n  " << labelOf(op) << ", " << nameOf(op.phase) << "\n    sizes   ";
  if (!isMemory)
    out << sizesText(op.work) << " (m x n x k), " << flopsText(op.work.flops) << ", ";
  out << bytes(static_cast<int64_t>(op.work.bytes)) << " to and from memory\n";
  out << "    takes   " << seconds(op.seconds) << ": " << formulaOf(op) << "\n";
  if (!isMemory)
    out << "    peak    " << percent(peakShareOf(op), 1) << " of "
        << number(op.terms.peakFlops / 1e12) << " TFLOP/s; compute alone: " << efficiencyOf(op)
        << "\n";
  out << "    a step  " << seconds(each.stepSeconds()) << " on stage " << each.stage << ", "
      << number(each.runs, 9) << " times, "
      << percent(each.stepSeconds(), plan.predicted.stepSeconds) << " of the step\n";
}

} // namespace

Status explainOps(llvm::raw_ostream &out, const ExplainRequest &request,
                  const std::string &pattern) {
  std::vector<StageOp> ops = findOps(request, pattern);
  if (ops.empty())
    return noneMatches(request, pattern);
  if (request.json) {
    Json json{{"schema", "dtc.explanation/1"}, {"pattern", pattern}, {"ops", Json::array()}};
    for (const StageOp &op : ops)
      json["ops"].push_back(opToJson(op, request.plan));
    printJson(out, json);
    return {};
  }
  out << counted(static_cast<int64_t>(ops.size()), "op") << " with '" << pattern
      << "', each on the stage that spends most on it\n";
  opTable(ops, request.plan).print(out, 2);
  for (const StageOp &op : llvm::ArrayRef(ops).take_front(kMostDetails))
    printDetails(out, op, request.plan);
  return {};
}

} // namespace dtc
