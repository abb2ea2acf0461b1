// Prints the differences of two plans.
#pragma once

#include "compiler/show/explain/PlanDiff.h"

#include "llvm/Support/raw_ostream.h"

#include <string>

namespace dtc {

// Prints the differences as text.
void printDiff(llvm::raw_ostream &out, const Plan &a, const Plan &b, const PlanDiff &diff);

// {"schema": "dtc.diff/1", "summary", "request", "decisions", "step_time_s": {"a","b",...}, "time",
// "memory", "tensors"}
std::string diffToJson(const Plan &a, const Plan &b, const PlanDiff &diff);

} // namespace dtc
