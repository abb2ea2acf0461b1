// What a plan rests on that its user has not said.
#pragma once

#include "tools/dtc/Planning.h"

namespace dtc {

// Lines of text for the end of a plan: a block "decided for you" with what no flag says of precision,
// sequence length, software, gradient type and expert capacity, and a hint where the batch has too
// few samples for the devices. Empty where the flags say all.
std::string decidedForYou(const PlanningFlags &flags, const PlanRequest &request, const Plan &plan);

} // namespace dtc
