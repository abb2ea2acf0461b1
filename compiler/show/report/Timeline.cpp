// The pipeline's time line: all of it where the tasks can be told apart, else as shares, with its
// beginning and its end task by task.
#include "compiler/show/report/Timeline.h"

#include "compiler/show/report/TimelineRows.h"

#include "compiler/show/explain/Figures.h"

#include <algorithm>

namespace dtc::html {
namespace {

constexpr double kWidth = 1056, kLeft = 66, kRight = 12;
constexpr size_t kMostTasks = 140; // most tasks of a row that are drawn one by one
constexpr double kDetailTasks = 64;

class Timeline {
public:
  Timeline(const Plan &plan, const StepSimulation &step)
      : plan(plan), tasks(rowTasks(step)), rows(step.problem.stages), end(step.result.makespan) {
    for (const auto &row : tasks)
      most = std::max(most, row.size());
  }

  std::string run() {
    std::string html = legend(entries());
    if (most <= kMostTasks)
      return html + figure(drawing("timeline", "Time line of the step", 0, end, false),
                           "One training step. Numbers are micro-batches; grey is waiting.");
    html +=
        figure(drawing("timeline", "Time line of the step", 0, end, true),
               "One training step with " +
                   std::to_string(plan.decisions.numMicroBatches * plan.decisions.virtualStages) +
                   " passes through every stage: in each column the share of the time that goes "
                   "into each kind of work; grey is waiting.");
    // Limits the window so that tasks are wide enough, assuming the mean density of the step.
    double window = end * std::min(1.0, kDetailTasks / static_cast<double>(most));
    html += figure(drawing("timeline-start", "The first micro-batches", 0, window, false),
                   "How the pipeline fills. Numbers are micro-batches.");
    html += figure(drawing("timeline-end", "The last micro-batches", end - window, end, false),
                   "How it drains; after its last micro-batch every stage shares gradients and "
                   "updates its parameters.");
    return html;
  }

private:
  std::vector<LegendEntry> entries() const {
    bool weights = false, gradients = false, optimizer = false;
    for (const auto &row : tasks)
      for (const RowTask &task : row) {
        weights |= task.cssClass == "task-w";
        gradients |= task.cssClass == "task-g" && task.end - task.start > 2e-3 * end;
        optimizer |= task.cssClass == "task-o" && task.end - task.start > 2e-3 * end;
      }
    std::vector<LegendEntry> list{{"task-f", "forward (F)"}};
    list.push_back({"task-b", weights ? "backward, gradient of the input (B)" : "backward (B)"});
    if (weights)
      list.push_back({"task-w", "backward, gradients of weights (W)"});
    if (gradients)
      list.push_back({"task-g", "gradients between replicas"});
    if (optimizer)
      list.push_back({"task-o", "optimizer"});
    list.push_back({"row", "waiting"});
    return list;
  }

  std::string drawing(llvm::StringRef id, llvm::StringRef title, double from, double to,
                      bool shares) const {
    double bottom = StageRows::top + rows.height;
    Svg svg(kWidth, bottom + 38, id, title,
            figures::counted(plan.decisions.pp, "stage") + " over " + figures::seconds(to - from) +
                ", from " + figures::seconds(from) +
                " on: which micro-batch each stage works on, forward and "
                "backward, and when it waits");
    Scale time{from, to, kLeft, kWidth - kRight};
    drawRows(svg, rows, time);
    if (shares)
      drawShares(svg, rows, tasks, time);
    else
      drawTasks(svg, rows, tasks, time, plan);
    for (double tick : {from, to})
      svg.line(time(tick), StageRows::top, time(tick), bottom, "axis");
    horizontalAxis(svg, time, bottom, bottom + 4, secondsUnit(to), "time since the step's start");
    return svg.finish();
  }

  const Plan &plan;
  std::vector<std::vector<RowTask>> tasks;
  StageRows rows;
  double end;
  size_t most = 0;
};

} // namespace

std::string timelineFigures(const Plan &plan, const StepSimulation &step) {
  return Timeline(plan, step).run();
}

} // namespace dtc::html
