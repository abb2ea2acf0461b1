// Lists the choices of a plan that its user did not make.
#pragma once

#include "tools/dtc/Planning.h"

namespace dtc {

// Returns lines of text for the end of a plan: a block "decided for you" with what no flag gives of
// precision, sequence length, software, gradient type and expert capacity, and a hint if the batch
// has too few samples for the devices. Empty if the flags give everything.
//
// Example: "  decided for you\n"
//          "    precision       bf16, which these devices are fastest in (--precision)\n"
std::string decidedForYou(const PlanningFlags &flags, const PlanRequest &request, const Plan &plan);

// Returns the command line that makes the plan again, with the choices made for its user written
// out.
// Example: "dtc plan gpt2.json --seq-len 1024 --topology dgx-h100 --global-batch 64 ..."
std::string commandOf(const PlanningFlags &flags, const Plan &plan);

} // namespace dtc
