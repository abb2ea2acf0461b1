// Plans from files, for the commands that explain them.
#pragma once

#include "compiler/planner/Plan.h"
#include "compiler/support/Error.h"

namespace dtc {

// The plan of a file. `doing` starts the message where the file is an executable ("simulating").
// Errors: no such file, an executable, a plan that planFromJson does not take.
Result<Plan> readPlan(const std::string &file, const std::string &doing);

} // namespace dtc
