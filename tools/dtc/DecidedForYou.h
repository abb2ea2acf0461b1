// Lists the choices of a plan that its user did not make.
#pragma once

#include "compiler/show/report/DecidedForUser.h"
#include "compiler/show/report/Report.h"
#include "tools/dtc/PlanningFlags.h"

namespace dtc {

// Returns what no flag gives of precision, sequence length, software, gradient type and expert
// capacity, and a hint if the batch has too few samples for the devices.
DecidedForUser decidedForYou(const PlanningFlags &flags, const PlanRequest &request,
                             const Plan &plan);

// Returns lines of text for the end of a plan, a block "decided for you" and the hint. Empty if the
// flags give everything.
//
// Example: "  decided for you\n"
//          "    precision       bf16, which these devices are fastest in (--precision)\n"
std::string decidedText(const DecidedForUser &decided);

// Returns the command line that makes the plan again, with the choices made for its user written
// out.
// Example: "dtc plan gpt2.json --seq-len 1024 --topology dgx-h100 --global-batch 64 ..."
std::string commandOf(const PlanningFlags &flags, const Plan &plan);

} // namespace dtc
