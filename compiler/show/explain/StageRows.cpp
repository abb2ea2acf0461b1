// The stages of a plan in few rows.
#include "compiler/show/explain/StageRows.h"

#include "compiler/show/explain/Figures.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <functional>
#include <limits>

namespace dtc {
namespace {

using namespace figures;

struct Column {
  const char *name;
  double (*value)(const PlanStage &stage);
  std::string (*text)(double value);
};

std::string bytesText(double value) { return bytes(static_cast<int64_t>(value)); }
std::string secondsText(double value) { return seconds(value); }
std::string countText(double value) { return number(value, 4); }
double whole(int64_t value) { return static_cast<double>(value); }

constexpr Column kColumns[] = {
    {"compute", [](const PlanStage &s) { return s.computeSeconds; }, secondsText},
    {"exposed comm", [](const PlanStage &s) { return s.exposedCommSeconds; }, secondsText},
    {"parameters", [](const PlanStage &s) { return whole(s.memory.parameters); }, bytesText},
    {"gradients", [](const PlanStage &s) { return whole(s.memory.gradients); }, bytesText},
    {"optimizer", [](const PlanStage &s) { return whole(s.memory.optimizer); }, bytesText},
    {"activations", [](const PlanStage &s) { return whole(s.memory.activations); }, bytesText},
    {"in flight", [](const PlanStage &s) { return s.inFlight; }, countText},
    {"peak", [](const PlanStage &s) { return whole(s.peakMemoryBytes); }, bytesText},
};
constexpr size_t kRecomputeColumn = std::size(kColumns) - 1; // before "peak"

// "2.24 s" and "2.44 s" are "2.24-2.44 s"; units that differ stay.
std::string rangeText(const std::string &low, const std::string &high) {
  if (low == high)
    return low;
  auto [lowFigure, lowUnit] = llvm::StringRef(low).split(' ');
  auto [highFigure, highUnit] = llvm::StringRef(high).split(' ');
  if (lowUnit == highUnit)
    return lowFigure.str() + "-" + high;
  return low + "-" + high;
}

std::string indexRange(int64_t first, int64_t last) {
  return first == last ? std::to_string(first) : std::to_string(first) + "-" + std::to_string(last);
}

class Folder {
public:
  Folder(const Plan &plan, size_t most) : plan(plan), most(most) {}

  std::vector<StageRow> run() {
    for (size_t stage = 0; stage < plan.stages.size(); ++stage) {
      StageRow row{stage, stage, "", "", figuresOf(stage, stage)};
      bool isSame = !rows.empty() && rows.back().figures == row.figures &&
                    shapeOf(rows.back().first) == shapeOf(stage);
      if (isSame)
        rows.back().last = stage;
      else
        rows.push_back(std::move(row));
    }
    while (rows.size() > std::max<size_t>(1, most))
      mergeNearest();
    for (StageRow &row : rows) {
      row.stages = indexRange(static_cast<int64_t>(row.first), static_cast<int64_t>(row.last));
      row.layers = layersOf(row);
      row.figures = figuresOf(row.first, row.last);
    }
    return std::move(rows);
  }

private:
  std::pair<size_t, size_t> shapeOf(size_t stage) const {
    return {plan.stages[stage].chunks.size(), plan.stages[stage].recompute.size()};
  }

  std::vector<std::string> figuresOf(size_t first, size_t last) const {
    std::vector<std::string> figures;
    for (const Column &column : kColumns) {
      double low = std::numeric_limits<double>::infinity(), high = -low;
      for (size_t stage = first; stage <= last; ++stage) {
        low = std::min(low, column.value(plan.stages[stage]));
        high = std::max(high, column.value(plan.stages[stage]));
      }
      figures.push_back(rangeText(column.text(low), column.text(high)));
    }
    std::string recompute = recomputedLayers(plan.stages[first]);
    for (size_t stage = first; stage <= last; ++stage)
      if (recomputedLayers(plan.stages[stage]) != recompute)
        recompute = "differs";
    figures.insert(figures.begin() + kRecomputeColumn, recompute);
    return figures;
  }

  // Returns the distance of two rows' stages, by shares of memory and time.
  double distance(const StageRow &a, const StageRow &b) const {
    double sum = 0;
    for (double (*value)(const PlanStage &) :
         {+[](const PlanStage &s) { return whole(s.peakMemoryBytes); },
          +[](const PlanStage &s) { return s.computeSeconds; }}) {
      double low = std::numeric_limits<double>::infinity(), high = 0;
      for (size_t stage = a.first; stage <= b.last; ++stage) {
        low = std::min(low, value(plan.stages[stage]));
        high = std::max(high, value(plan.stages[stage]));
      }
      sum += high > 0 ? (high - low) / high : 0;
    }
    return sum;
  }

  void mergeNearest() {
    size_t nearest = 0;
    for (size_t row = 1; row + 1 < rows.size(); ++row)
      if (distance(rows[row], rows[row + 1]) < distance(rows[nearest], rows[nearest + 1]))
        nearest = row;
    rows[nearest].last = rows[nearest + 1].last;
    rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(nearest) + 1);
  }

  // Layers of the shortest and the longest run: "2", "1 to 2".
  std::string lengthsOf(const StageRow &row) const {
    int64_t least = std::numeric_limits<int64_t>::max(), most = 0;
    for (size_t index = row.first; index <= row.last; ++index)
      for (auto [first, last] : plan.stages[index].chunks) {
        least = std::min(least, last - first + 1);
        most = std::max(most, last - first + 1);
      }
    return std::to_string(least) + (least < most ? " to " + std::to_string(most) : "");
  }

  std::string layersOf(const StageRow &row) const {
    const PlanStage &stage = plan.stages[row.first];
    if (stage.chunks.size() > 3)
      return std::to_string(stage.chunks.size()) + " runs of " + lengthsOf(row);
    std::string list;
    for (size_t chunk = 0; chunk < stage.chunks.size(); ++chunk) {
      int64_t first = stage.chunks[chunk].first, last = stage.chunks[chunk].second;
      for (size_t other = row.first; other <= row.last; ++other)
        if (chunk < plan.stages[other].chunks.size()) {
          first = std::min(first, plan.stages[other].chunks[chunk].first);
          last = std::max(last, plan.stages[other].chunks[chunk].second);
        }
      list += (list.empty() ? "" : ",") + (first > last ? "none" : indexRange(first, last));
    }
    return list;
  }

  const Plan &plan;
  size_t most;
  std::vector<StageRow> rows;
};

} // namespace

std::string recomputedLayers(const PlanStage &stage) {
  std::string list;
  for (Recompute recompute : llvm::drop_end(llvm::reverse(kRecomputes)))
    if (int64_t count = llvm::count(stage.recompute, toString(recompute)))
      list += (list.empty() ? "" : ", ") + std::to_string(count) + " " + toString(recompute).str();
  return list.empty() ? "none" : list;
}

const std::vector<std::string> &stageColumns() {
  static const std::vector<std::string> columns = [] {
    std::vector<std::string> names;
    for (const Column &column : kColumns)
      names.push_back(column.name);
    names.insert(names.begin() + kRecomputeColumn, "recompute");
    return names;
  }();
  return columns;
}

std::vector<StageRow> foldStages(const Plan &plan, size_t most) { return Folder(plan, most).run(); }

} // namespace dtc
