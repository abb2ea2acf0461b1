// Goes through a program's step in the order in which the host enqueues it, and follows what every
// byte means.
#pragma once

#include "compiler/prove/verify/ProgramState.h"
#include "compiler/prove/verify/SkipPeriods.h"

#include <optional>

namespace dtc {

// Follows the values of one program in one entry.
class Values {
public:
  // `skips`: skips the periods whose effect is known (SkipPeriods.h).
  Values(const Steps &steps, const GroupAxes &groups, Board &board, bool skips);

  // Goes on until the end, a fault, or a collective that another program has not come to. `force`:
  // then goes on all the same, as if what is to come differed along all axes.
  std::optional<Fault> advance(bool force);
  // Returns true if the whole order has been followed.
  bool isDone() const { return state.at.isDone(); }
  // Returns the number of instructions executed so far.
  uint64_t count() const { return state.executed; }
  // Returns the number of executed instructions that were not skipped.
  uint64_t followed() const { return state.executed - state.skipped; }

private:
  std::optional<Fault> followRun();

  ProgramState state;
  std::optional<PeriodSkipper> skipper;
};

} // namespace dtc
