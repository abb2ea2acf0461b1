// The planner's estimate of memory against the static plan of the same program.
#pragma once

#include "llvm/Support/raw_ostream.h"

#include <string>
#include <vector>

namespace dtc::published {

// One program that `dtc compile` lowers.
struct StaticPlan {
  std::string name;                  // shape and decisions
  double estimated = 0, planned = 1; // bytes of a rank
  double off() const { return estimated / planned - 1; }
};

// Shapes of GPT-2 and Llama; data and tensor parallelism, ZeRO, micro-batches and sequences drawn
// from a fixed seed, so that they are the same in every run.
std::vector<StaticPlan> compareStaticPlans();

struct StaticPlanErrors {
  double median = 0; // share of the static plan
  StaticPlan worst;
};
StaticPlanErrors errorsOf(std::vector<StaticPlan> plans);

// A line for each, and one for all.
void printStaticPlans(const std::vector<StaticPlan> &plans, llvm::raw_ostream &out);

} // namespace dtc::published
