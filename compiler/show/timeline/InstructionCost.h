// Seconds of one instruction of an executable, by the cost model.
#pragma once

#include "compiler/price/cost/CollectiveCost.h"
#include "compiler/price/cost/Cost.h"
#include "runtime/format/Operands.h"

#include <functional>

namespace dtc {

// The time of an instruction, alone and on its link.
struct InstructionTime {
  double seconds = 0; // alone
  // Part of the seconds during which the rank's link is in use, shared with other transfers.
  double linkSeconds = 0;
  int level = 0; // level of that link
};

// An instruction of the program of `rank`, there, without what it waits for. Of a collective or
// transfer the time from when all ranks are there.
using InstructionCost =
    std::function<InstructionTime(uint32_t rank, const format::Instruction &instruction)>;

// Returns costs by compiler/price/cost: matmuls and attention by their sizes, collectives by the
// links between the ranks of the rank's list, all others by the bytes that they read and write. On
// heterogeneous devices, ranks of one device group are costed as a system of their own. The
// manifest must be verified; it and the topology must outlive the result.
InstructionCost costOn(const format::Manifest &manifest, const Topology &topology);

} // namespace dtc
