// Assigns devices to the coordinates of a program's mesh.
#pragma once

#include "compiler/decide/plan/Plan.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <vector>

namespace dtc {

// For each position of the mesh, counted row-major, the rank that the plan puts there: those of a
// stage are its PlanStage::ranks, in which the other axes lie as axis_order says. `names` of axes
// begin with the letters of AxisOrder ("dp.groups" with d); axes of one letter keep the order that
// they have, the last one innermost. Empty where each rank is at the position of its number. `plan`
// is one that checkPlan takes. Example: pp 2, dp 2, tp 2 in the order tp, pp, dp has stages 0 1 4 5
// and 2 3 6 7, and positions 0 1 4 5 2 3 6 7.
std::vector<uint32_t> meshRanks(const Plan &plan, llvm::ArrayRef<llvm::StringRef> names,
                                llvm::ArrayRef<int64_t> sizes);

} // namespace dtc
