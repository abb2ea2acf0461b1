// The layers of each stage in few rows.
#pragma once

#include "compiler/decide/plan/Plan.h"

namespace dtc {

// Neighbouring stages whose chunks have as many layers. Example, of 12 layers on 3 stages of 2
// chunks: {"0-1", "2+2", "0-3, 6-9"} and {"2", "2+2", "4-5, 10-11"}.
struct CutRow {
  std::string stages, counts,
      layers; // counts: layers of each chunk, in the order of the stage's chunks
};

// Returns at least one row for every run of stages with the same cut; empty for one stage. A chunk
// without layers counts 0 and is not among the layers.
std::vector<CutRow> cutRows(const Plan &plan);

// Returns whether the table of stages leaves open which layers are on which stage: of stages with
// several chunks.
bool needsCutTable(const Plan &plan);

} // namespace dtc
