// When a job that failed is started again (--restarts).
#pragma once

#include "runtime/base/Status.h"
#include "tools/dtrun/Options.h"

#include <cstdint>
#include <functional>
#include <string>

namespace dtc::rt {

struct LaunchResult;

// How many failures a job may have until it has a new checkpoint: each one fills the budget again.
// Example: RestartBudget budget(2, 0); fails at step 7 without a checkpoint: take(0) is true; fails
// again: true; fails with a checkpoint of step 40: take(40) is true, and so is the next one; with
// nothing new after that, take(40) is false.
class RestartBudget {
public:
  // `newest` is the step of the newest checkpoint before the first start; 0: none.
  RestartBudget(uint64_t most, uint64_t newest) : most(most), best(newest) {}

  // After a failure: whether to start again.
  bool take(uint64_t newest);
  // Starts since the last new checkpoint.
  uint64_t used() const { return count; }
  // Before the start: none at first, then 1, 2, 4 ... 30 s, in which a full disk or a host may recover.
  double waitSeconds() const;

private:
  uint64_t most, best, count = 0;
};

// Whether a new start may mend what ended the job: a rank died or hung, or had an internal error. Wrong
// input, a loss that is not finite and a request from outside stay what they are.
bool mayMend(const LaunchResult &result);

// Runs the ranks with these arguments (program first): once, or with --restarts until they are done or
// the budget is used up. All starts but the first go on from the last good checkpoint.
Status runWithRestarts(const Options &options, std::vector<std::string> arguments,
                       LaunchResult &result);

} // namespace dtc::rt
