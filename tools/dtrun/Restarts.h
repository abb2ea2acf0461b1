// Decides when a job that failed is started again (--restarts).
#pragma once

#include "runtime/base/Status.h"
#include "tools/dtrun/Options.h"

#include <cstdint>
#include <functional>
#include <string>

namespace dtc::rt {

struct LaunchResult;

// Counts the failures of a job since its last new checkpoint. Each new checkpoint fills the budget
// again.
// Example: RestartBudget budget(2, 0). The job fails at step 7 without a checkpoint: take(0) is
// true. It fails again: true. It fails with a checkpoint of step 40: take(40) is true, and so is
// the next one. It fails without a newer one: take(40) is false.
class RestartBudget {
public:
  // `most` is the number of restarts without a new checkpoint. `newest` is the step of the newest
  // checkpoint before the first start, or 0.
  RestartBudget(uint64_t most, uint64_t newest) : most(most), best(newest) {}

  // Call after a failure. Returns true if the job may start again.
  bool take(uint64_t newest);
  // Returns the number of starts since the last new checkpoint.
  uint64_t used() const { return count; }
  // Returns the seconds to wait before the start: 0 at first, then 1, 2, 4 ... 30, in which a full
  // disk or a host may recover.
  double waitSeconds() const;

private:
  uint64_t most, best, count = 0;
};

// Returns true if a new start may succeed after what ended the job: a rank died or hung, or had an
// internal error. It would not help against wrong input, a loss that is not finite, or a request
// from outside.
bool mayMend(const LaunchResult &result);

// Runs the ranks with these arguments (the program first): once, or with --restarts until they
// succeed or the budget is used up. All starts but the first resume from the last good checkpoint.
Status runWithRestarts(const Options &options, std::vector<std::string> arguments,
                       LaunchResult &result);

} // namespace dtc::rt
