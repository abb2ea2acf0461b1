// Rows of a pipeline's time line.
#include "compiler/show/report/TimelineRows.h"

#include "compiler/show/explain/Figures.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace dtc::html {
namespace {

constexpr std::array<llvm::StringLiteral, 5> kKinds{"task-f", "task-b", "task-w", "task-g",
                                                    "task-o"};

llvm::StringRef kindOf(PipelineTaskKind kind) {
  return kind == PipelineTaskKind::Forward          ? kKinds[0]
         : kind == PipelineTaskKind::BackwardWeight ? kKinds[2]
                                                    : kKinds[1];
}

std::string hoverOf(const RowTask &task, const Plan &plan) {
  std::string what = task.cssClass == "task-f"   ? "forward"
                     : task.cssClass == "task-b" ? "backward"
                     : task.cssClass == "task-w" ? "weight gradients"
                     : task.cssClass == "task-g" ? "gradients between replicas"
                                                 : "optimizer";
  if (task.microBatch >= 0)
    what += " of micro-batch " + std::to_string(task.microBatch);
  if (task.microBatch >= 0 && plan.decisions.virtualStages > 1)
    what += ", chunk " + std::to_string(task.chunk);
  return what + ": " + figures::seconds(task.start) + " to " + figures::seconds(task.end);
}

} // namespace

StageRows::StageRows(int stages) {
  for (int stage = 0; stage < stages; ++stage) {
    bool shows = stages <= mostStages || stage < mostStages / 2 || stage >= stages - mostStages / 2;
    if (shows)
      shown.push_back(stage);
    else
      ++left;
  }
  height = static_cast<double>(shown.size()) * rowHeight + (left > 0 ? gap : 0);
}

double StageRows::yOf(size_t row) const {
  bool below = left > 0 && row >= mostStages / 2;
  return top + static_cast<double>(row) * rowHeight + (below ? gap : 0);
}

std::vector<std::vector<RowTask>> rowTasks(const StepSimulation &step) {
  size_t stages = static_cast<size_t>(step.problem.stages), index = 0;
  std::vector<std::vector<RowTask>> rows(stages);
  for (size_t stage = 0; stage < stages; ++stage)
    for (const PipelineTask &task : step.schedule.order[stage]) {
      const SimTime &time = step.result.tasks[index++];
      rows[stage].push_back({kindOf(task.kind), task.microBatch, task.chunk, time.start, time.end});
    }
  auto tasks = step.simulation.allTasks();
  for (; index < tasks.size(); ++index) {
    llvm::StringRef name = tasks[index].name;
    bool gradients = name == "gradients", optimizer = name == "optimizer";
    if (!gradients && !optimizer)
      continue;
    size_t stream = static_cast<size_t>(tasks[index].streams.front());
    size_t stage = static_cast<size_t>(step.simulation.allStreams()[stream].device);
    const SimTime &time = step.result.tasks[index];
    rows[stage].push_back({gradients ? kKinds[3] : kKinds[4], -1, 0, time.start, time.end});
  }
  return rows;
}

void drawRows(Svg &svg, const StageRows &rows, const Scale &time) {
  for (size_t row = 0; row < rows.shown.size(); ++row) {
    double y = rows.yOf(row);
    svg.rect(time.from, y, time.to - time.from, StageRows::rowHeight - 3, "row");
    svg.text(time.from - 8, y + 13, "stage " + std::to_string(rows.shown[row]), "small", "end");
  }
  if (rows.left > 0)
    svg.text((time.from + time.to) / 2, rows.yOf(StageRows::mostStages / 2) - 10,
             std::to_string(rows.left) + " stages between them are not drawn", "tick", "middle");
}

void drawTasks(Svg &svg, const StageRows &rows, const std::vector<std::vector<RowTask>> &tasks,
               const Scale &time, const Plan &plan) {
  for (size_t row = 0; row < rows.shown.size(); ++row)
    for (const RowTask &task : tasks[static_cast<size_t>(rows.shown[row])]) {
      if (task.end <= time.low || task.start >= time.high || task.end <= task.start)
        continue;
      double from = time(std::max(task.start, time.low)), to = time(std::min(task.end, time.high));
      double y = rows.yOf(row), width = to - from;
      std::string cssClass = task.cssClass.str();
      if (task.microBatch % 2 == 1)
        cssClass += " odd";
      // A hair between neighbours, where that leaves something.
      svg.rect(from, y, width > 3 ? width - 0.75 : width, StageRows::rowHeight - 3, cssClass,
               hoverOf(task, plan));
      std::string label = task.microBatch >= 0 ? std::to_string(task.microBatch) : "";
      if (!label.empty() && width > 4 + 6.2 * static_cast<double>(label.size()))
        svg.text(from + width / 2, y + 12.5, label, "inside", "middle");
    }
}

void drawShares(Svg &svg, const StageRows &rows, const std::vector<std::vector<RowTask>> &tasks,
                const Scale &time) {
  // Columns of a few tasks each: narrower ones would show their beat, not their shares.
  size_t most = 1;
  for (const auto &row : tasks)
    most = std::max(most, row.size());
  double pixels = time.to - time.from;
  size_t bins = static_cast<size_t>(std::clamp(static_cast<double>(most) / 4, 60.0, pixels / 2));
  double width = pixels / static_cast<double>(bins);
  double binSeconds = (time.high - time.low) / static_cast<double>(bins);
  for (size_t row = 0; row < rows.shown.size(); ++row) {
    std::vector<std::array<double, kKinds.size()>> shares(bins);
    for (const RowTask &task : tasks[static_cast<size_t>(rows.shown[row])]) {
      size_t kind = static_cast<size_t>(llvm::find(kKinds, task.cssClass) - kKinds.begin());
      double from = (task.start - time.low) / binSeconds, to = (task.end - time.low) / binSeconds;
      size_t last = std::min(bins, static_cast<size_t>(std::ceil(std::max(0.0, to))));
      for (size_t bin = static_cast<size_t>(std::max(0.0, from)); bin < last; ++bin) {
        double low = static_cast<double>(bin);
        shares[bin][kind] += std::max(0.0, std::min(to, low + 1) - std::max(from, low));
      }
    }
    double bottom = rows.yOf(row) + StageRows::rowHeight - 3;
    std::array<std::string, kKinds.size()> paths;
    for (size_t bin = 0; bin < bins; ++bin) {
      double y = bottom;
      for (size_t kind = 0; kind < kKinds.size(); ++kind) {
        double height = std::min(1.0, shares[bin][kind]) * (StageRows::rowHeight - 3);
        if (height < 0.05)
          continue;
        paths[kind] += "M" + coordinate(time.from + width * static_cast<double>(bin)) + " " +
                       coordinate(y) + "v" + coordinate(-height) + "h" + coordinate(width + 0.05) +
                       "v" + coordinate(height) + "z";
        y -= height;
      }
    }
    for (size_t kind = 0; kind < kKinds.size(); ++kind)
      if (!paths[kind].empty())
        svg.path(paths[kind], kKinds[kind]);
  }
}

} // namespace dtc::html
