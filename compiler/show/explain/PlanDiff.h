// Compares two plans, and what their differences cost.
#pragma once

#include "compiler/decide/plan/Plan.h"

#include "llvm/Support/raw_ostream.h"

namespace dtc {

// A part of a step, or a kind of memory of the fullest rank, that differs.
struct PartDifference {
  std::string name, key;
  double a = 0, b = 0; // seconds or bytes
  // Returns the difference from a to b.
  double change() const { return b - a; }
};

// A decision or a part of the request that differs.
struct DecisionDifference {
  std::string key, a, b;
};

// Tensors of one pattern that are placed otherwise on one axis.
struct MovedTensors {
  std::string pattern, axis, a, b; // placements; "absent" where the plan does not have them
  int64_t count = 0;
};

// All differences of two plans.
struct PlanDiff {
  std::vector<DecisionDifference> request;   // model, topology, batch: what was asked for
  std::vector<DecisionDifference> decisions; // decisions of the search
  std::vector<PartDifference> times;         // the largest change first
  std::vector<PartDifference> memory;
  std::vector<MovedTensors> moved;
  // "a step of b takes 7.3 % longer: bubble +1.1 s, exposed gradient comm +20 ms"
  std::string summary;
};

// Compares two plans.
PlanDiff diffPlans(const Plan &a, const Plan &b);

} // namespace dtc
