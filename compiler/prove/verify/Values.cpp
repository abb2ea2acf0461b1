#include "compiler/prove/verify/Values.h"

#include "compiler/prove/verify/EndRules.h"
#include "compiler/prove/verify/Flows.h"

namespace dtc {

Values::Values(const Steps &steps, const GroupAxes &groups, Board &board, bool skips)
    : state(steps, groups, board) {
  if (skips)
    skipper.emplace(state);
}

// Follows the rest of a run, up to an instruction that waits.
std::optional<Fault> Values::followRun() {
  for (; state.at.hasInstruction(); state.at.endInstruction()) {
    if (!state.at.beginInstruction())
      continue;
    FlowResult result = followInstruction(state);
    if (result.fault || result.waits)
      return result.fault;
    state.channels.guessNext(false);
    ++state.executed;
  }
  return std::nullopt;
}

std::optional<Fault> Values::advance(bool force) {
  state.channels.guessNext(force);
  if (force && skipper)
    skipper->forget();
  for (; !state.at.isDone(); state.at.endRun()) {
    if (state.at.isAtBeginOfRun() && !state.isBlocked && skipper)
      skipper->beforeRun();
    state.at.beginRun();
    std::optional<Fault> found = followRun();
    if (found || state.isBlocked)
      return found;
  }
  return checkEnd(state);
}

} // namespace dtc
