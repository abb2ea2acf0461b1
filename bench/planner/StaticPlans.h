// Compares the planner's estimate of memory with the static plan of the same program.
#pragma once

#include "llvm/Support/raw_ostream.h"

#include <string>
#include <vector>

namespace dtc::published {

// One program that `dtc compile` lowers.
struct StaticPlan {
  std::string name;                  // shape and decisions
  double estimated = 0, planned = 1; // bytes of a rank
  // Returns the relative error of the estimate.
  double off() const { return estimated / planned - 1; }
};

// Compares shapes of GPT-2 and Llama. Data and tensor parallelism, ZeRO, micro-batches and
// sequences are drawn from a fixed seed, so that they are the same in every run.
std::vector<StaticPlan> compareStaticPlans();

// The errors over all programs.
struct StaticPlanErrors {
  double median = 0; // as a share of the static plan
  StaticPlan worst;
};
// Returns the median of the absolute errors, and the worst program.
StaticPlanErrors errorsOf(std::vector<StaticPlan> plans);

// Prints a line for each program, and one for all.
void printStaticPlans(const std::vector<StaticPlan> &plans, llvm::raw_ostream &out);

} // namespace dtc::published
