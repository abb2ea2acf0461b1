// Rows of a pipeline's time line. Internal to this folder.
#pragma once

#include "compiler/decide/plan/Plan.h"
#include "compiler/show/report/Axis.h"
#include "compiler/show/simulate/PipelineSimulation.h"

namespace dtc::html {

// The positions of the rows of stages. With many stages only the first and the last ones are drawn,
// with a gap between them.
struct StageRows {
  static constexpr int mostStages = 16;
  static constexpr double rowHeight = 20, gap = 26, top = 8;

  explicit StageRows(int stages);

  std::vector<int> shown; // stages, from the top
  int left = 0;           // stages that are not shown
  double height = 0;      // height of all rows
  // Returns the top of a row.
  double yOf(size_t row) const;
};

// The work of a stage in a time span.
struct RowTask {
  llvm::StringRef cssClass; // "task-f", "task-b", "task-w", "task-g" or "task-o"
  int microBatch = -1, chunk = 0;
  double start = 0, end = 0;
};

// The tasks of each stage in order of time: computation, then what follows the last micro-batch.
std::vector<std::vector<RowTask>> rowTasks(const StepSimulation &step);

// Names and backgrounds of the rows.
void drawRows(Svg &svg, const StageRows &rows, const Scale &time);

// Every task of the scale's window by itself, labelled where there is room.
void drawTasks(Svg &svg, const StageRows &rows, const std::vector<std::vector<RowTask>> &tasks,
               const Scale &time, const Plan &plan);

// The share of each kind of task in each column of some tasks: for more tasks than there is room
// for.
void drawShares(Svg &svg, const StageRows &rows, const std::vector<std::vector<RowTask>> &tasks,
                const Scale &time);

} // namespace dtc::html
