// The stages of a plan in few rows.
#pragma once

#include "compiler/decide/plan/Plan.h"

namespace dtc {

// Neighbouring stages under one row.
struct StageRow {
  size_t first = 0, last = 0;
  std::string stages, layers; // "3-14", "18-89"
  // Under stageColumns(): one figure where all have it, else "2.24-2.44 s".
  std::vector<std::string> figures;
};

// "compute", "exposed comm", ..., "peak": what a row says besides stage and layers.
const std::vector<std::string> &stageColumns();

// Counts the layers of a stage by recomputation, the most expensive mode first: "5
// selective+linear, 75 selective"; or "none".
std::string recomputedLayers(const PlanStage &stage);

// Stages whose figures are the same share a row; where that leaves more than `most`, so do those
// that differ least in memory and time.
std::vector<StageRow> foldStages(const Plan &plan, size_t most = 12);

} // namespace dtc
