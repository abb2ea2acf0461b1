#include "compiler/show/export/PlanView.h"

#include "compiler/decide/decisions/Words.h"
#include "compiler/search/pipeline/Schedule.h"
#include "compiler/show/export/ExportedPlan.h"
#include "compiler/support/Units.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cstdlib>

namespace dtc::launch {
namespace {

std::vector<Chunk> chunksOf(const Plan &plan) {
  std::vector<Chunk> chunks;
  for (auto [number, stage] : llvm::enumerate(plan.stages)) {
    std::vector<std::pair<int64_t, int64_t>> runs = stage.chunks;
    if (runs.empty())
      runs.push_back({stage.firstLayer, stage.lastLayer});
    size_t layer = 0; // index in the stage
    for (auto [first, last] : runs) {
      Chunk &chunk = chunks.emplace_back();
      chunk.first = first;
      chunk.last = last;
      chunk.stage = static_cast<int64_t>(number);
      for (int64_t i = first; i <= last; ++i, ++layer) {
        Recompute of = plan.decisions.recompute;
        if (layer < stage.recompute.size())
          of = recomputeFrom(stage.recompute[layer]).value_or(of);
        chunk.selective += of == Recompute::Selective;
        chunk.full += of == Recompute::Full;
      }
    }
  }
  // A chunk without layers begins with the layer of the chunk after it.
  llvm::sort(chunks, [](const Chunk &a, const Chunk &b) {
    return std::pair(a.first, a.last) < std::pair(b.first, b.last);
  });
  return chunks;
}

// A name of the plan within a comment, which no line break may end.
std::string oneLine(const std::string &name) {
  std::string line = name;
  for (char &c : line)
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f)
      c = '?';
  return line;
}

// Returns the order of the axes that have several ranks.
llvm::SmallVector<char> orderOf(const Decisions &d, const AxisOrder &order) {
  llvm::SmallVector<char> axes;
  for (char axis : order)
    if (d.sizeOf(axis) > 1)
      axes.push_back(axis);
  return axes;
}

Width widthOf(GradientType type) {
  return bytesOf(type) < bytesOf(GradientType::F32) ? Width::Half : Width::Full;
}

} // namespace

llvm::StringRef arrayTypeOf(Precision precision) {
  switch (storedAs(precision)) {
  case Precision::F32:
    return "float32";
  case Precision::BF16:
    return "bfloat16";
  case Precision::F16:
    return "float16";
  case Precision::FP8:
    break;
  }
  llvm_unreachable("8 bits are of products alone");
}

llvm::StringRef trainingModeOf(Precision precision) {
  switch (storedAs(precision)) {
  case Precision::F32:
    return "fp32";
  case Precision::BF16:
    return "bf16";
  case Precision::F16:
    return "fp16";
  case Precision::FP8:
    break;
  }
  llvm_unreachable("8 bits are of products alone");
}

PlanView::PlanView(const Plan &plan, const SoftwareStack &software, LauncherRelease release)
    : plan(plan), d(plan.decisions), software(software), release(release), chunks(chunksOf(plan)) {
  for (const Chunk &chunk : chunks)
    layers += chunk.layers();
  hasExperts = d.hasExpertParallelism();
  for (const auto &[name, axes] : plan.tensors) {
    hasExperts |= llvm::StringRef(name).contains("experts");
    auto tensor = axes.find("tp");
    splitsKvGroups |= tensor != axes.end() && llvm::StringRef(tensor->second).contains('/');
  }
  if (plan.precision == Precision::F32)
    return;
  if (plan.gradients) {
    reduced = widthOf(plan.gradients->reducedIn);
    accumulated = widthOf(plan.gradients->accumulatedIn);
    return;
  }
  reduced = software.reduceBytes < 4 ? Width::Half : widthOf(plan.origin.gradDtype);
  if (software.gradientBytes < 4)
    accumulated = Width::Half;
}

bool PlanView::hasEvenChunks() const {
  return llvm::all_of(
      chunks, [&](const Chunk &chunk) { return chunk.layers() == chunks.front().layers(); });
}

bool PlanView::liesAs(const AxisOrder &order) const {
  return orderOf(d, d.order) == orderOf(d, order);
}

bool PlanView::hasRanksOfOrder() const {
  int64_t stride = 1; // distance between ranks of neighbouring stages
  for (char axis : d.order) {
    if (axis == 'p')
      break;
    stride *= d.sizeOf(axis);
  }
  for (auto [stage, of] : llvm::enumerate(plan.stages))
    for (int64_t rank : of.ranks)
      if (rank / stride % d.pp != static_cast<int64_t>(stage))
        return false;
  return true;
}

std::vector<std::string> PlanView::summary() const {
  std::string what = "dtc's plan";
  if (!plan.modelName.empty())
    what += " of '" + oneLine(plan.modelName) + "'";
  what += " (" + std::to_string(plan.parameters) + " parameters, " + std::to_string(layers) +
          " layers) for " + std::to_string(plan.devices) + " devices on " +
          std::to_string(plan.nodes) + (plan.nodes == 1 ? " node" : " nodes") + " of '" +
          oneLine(plan.topologyName) + "'";
  std::string mesh = "dp " + std::to_string(d.dp) + ", tp " + std::to_string(d.tp) + ", pp " +
                     std::to_string(d.pp) + ", cp " + std::to_string(d.cp) + ", ep " +
                     std::to_string(d.ep) + (d.spreadsExperts('t') ? ", etp 1" : "");
  std::string costs =
      "predicted for the stack '" + plan.origin.software +
      "': " + printRounded(plan.predicted.stepSeconds, Quantity::Seconds) + " a step, " +
      printRounded(static_cast<double>(plan.predicted.peakMemoryBytes), Quantity::Bytes) +
      " of the fullest device";
  if (release.name.empty())
    return {what, mesh, costs};
  std::string written =
      ("written for " + release.name + " " + release.version + " of " + release.date).str();
  return {what, mesh, costs, written};
}

std::string findMisplacedChunk(const PlanView &view) {
  const Decisions &d = view.d;
  for (auto [index, chunk] : llvm::enumerate(view.chunks)) {
    int stage = stageOfChunk(d.schedule, static_cast<int>(d.pp), static_cast<int>(index));
    if (chunk.stage != stage)
      return "layers " + std::to_string(chunk.first) + " to " + std::to_string(chunk.last) +
             " are on stage " + std::to_string(chunk.stage) + ", and the schedule " +
             toString(d.schedule).str() + " has them on stage " + std::to_string(stage);
  }
  return "";
}

void noteRanks(const PlanView &view, llvm::StringRef name, const AxisOrder &order,
               std::vector<std::string> &notes) {
  if (!view.liesAs(order)) {
    std::string fix = orderText(order);
    std::replace(fix.begin(), fix.end(), ' ', '-');
    notes.push_back(("on the links the plan has its axes in the order " + orderText(view.d.order) +
                     ", the innermost first, and " + name + " in the order " + orderText(order) +
                     "; 'dtc plan --fix axis_order=" + fix + "' says what that costs")
                        .str());
    return;
  }
  if (view.hasRanksOfOrder())
    return;
  std::string ranges;
  for (auto [index, stage] : llvm::enumerate(view.plan.stages))
    ranges += (index == 0 ? "" : ", ") + std::to_string(stage.ranks.front()) + " to " +
              std::to_string(stage.ranks.back());
  notes.push_back(("the plan has its stages on the devices " + ranges + " of the system, and " +
                   name + " on ranks in their order: list the nodes to it in that order")
                      .str());
}

std::string decimalOf(double value) {
  std::string text;
  for (int digits = 1; digits <= 17; ++digits) {
    text.clear();
    llvm::raw_string_ostream(text) << llvm::format("%.*g", digits, value);
    if (std::strtod(text.c_str(), nullptr) == value)
      break;
  }
  return text;
}

std::string listOf(llvm::ArrayRef<std::string> words) {
  std::string list;
  for (auto [index, word] : llvm::enumerate(words))
    list += (index == 0 ? "" : index + 1 == words.size() ? " and " : ", ") + word;
  return list;
}

} // namespace dtc::launch
