// Seconds of one instruction of an executable, by the cost model.
#pragma once

#include "compiler/cost/Cost.h"
#include "runtime/format/Operands.h"

#include <functional>

namespace dtc {

struct InstructionTime {
  double seconds = 0;     // alone
  double linkSeconds = 0; // of these its rank's link is taken, and shared with what else is on it
  int level = 0;          // of that link
};

// An instruction of the program of `rank`, there, without what it waits for. Of a collective or transfer the time from when
// all ranks are there.
using InstructionCost =
    std::function<InstructionTime(uint32_t rank, const format::Instruction &instruction)>;

// By compiler/cost: products and attention by their sizes, collectives by the links between the ranks of
// this one's list of their group, all else by the bytes that it reads and writes. Where devices are unlike, ranks on one kind
// are costed as a system of their own. The manifest has been verified; it and the topology outlive the result.
InstructionCost costOn(const format::Manifest &manifest, const Topology &topology);

} // namespace dtc
