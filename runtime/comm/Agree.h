// Decisions that the ranks of a job take together between steps, so that no rank waits for one that
// took another branch.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/comm/Control.h"

#include <span>
#include <string>

namespace dtc::rt {

// Collective over `world`, between steps: returns ok on all ranks when `mine` is ok on all, else on
// all ranks the error of the lowest rank that has one, "rank 2: ..." unless that is rank 0.
// Example: DTC_RETURN_IF_ERROR(agree(world, openData()));
Status agree(Control &world, const Status &mine);

// The same, and `lowest` becomes the lowest rank that passes `claim`, -1 where none does: one
// exchange of a few bytes.
Status agree(Control &world, const Status &mine, bool claim, int &lowest);

// A setting that must be equal on all ranks.
struct Trait {
  std::string name;  // "--seed"
  std::string value; // compared; empty on a rank that has none, which agrees with all
  std::string shown; // for the message; `value` where empty
};

// Collective: all pass as many traits, in one order. Where a value differs, InvalidArgument on all
// ranks names a rank that differs from most others, its host, and both values:
//   "rank 1 on host 'b' has --seed 2, rank 0 on host 'a' has --seed 1; all ranks of a job must have
//   the same"
Status agreeOnTraits(Control &world, std::span<const Trait> traits);

} // namespace dtc::rt
