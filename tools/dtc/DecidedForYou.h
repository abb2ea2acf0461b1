// Says what a plan rests on that its user has not said.
#pragma once

#include "tools/dtc/Planning.h"

namespace dtc {

// Lines of text for the end of a plan: a block "decided for you" with what no flag says of precision,
// sequence length, software, gradient type and expert capacity, and a hint where the batch has too
// few samples for the devices. Empty where the flags say all.
//
// Example: "  decided for you\n"
//          "    precision       bf16, which these devices are fastest in (--precision)\n"
std::string decidedForYou(const PlanningFlags &flags, const PlanRequest &request, const Plan &plan);

// The command line that makes the plan again, with what was decided for its user written out.
// Example: "dtc plan gpt2.json --seq-len 1024 --topology dgx-h100 --global-batch 64 --precision bf16"
std::string commandOf(const PlanningFlags &flags, const Plan &plan);

} // namespace dtc
