// Writes the JSON form of plans.
#pragma once

#include "compiler/decide/plan/Plan.h"

#include <string>

namespace dtc {

// One JSON object, keys in the interface's order, two spaces of indentation.
std::string planToJson(const Plan &plan);

} // namespace dtc
