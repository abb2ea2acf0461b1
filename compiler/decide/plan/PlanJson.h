// Reads the JSON form of plans.
#pragma once

#include "compiler/decide/plan/Plan.h"

#include <string>

namespace dtc {

// Reads what planToJson wrote (or a person edited). An error points into `path` and names the key,
// the value found and the value wanted.
Status planFromJson(const std::string &text, const std::string &path, Plan &plan);

} // namespace dtc
