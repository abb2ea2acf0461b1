// Limits the chunks of tokens in which a loss can be computed.
#include "compiler/search/planner/LossChoices.h"

#include "compiler/search/planner/Divisors.h"

namespace dtc {

using D = Decisions;

bool mayCutLoss(const Decisions &d, const SpaceLimits &limits) {
  return d.microBatch % d.lossChunks == 0 || limits.sequence / d.cp % d.lossChunks == 0;
}

std::optional<UserError> findLossError(const SpaceLimits &limits, const Pins &pins) {
  int64_t chunks = pins[&D::lossChunks].value_or(1);
  int64_t samples = pins[&D::microBatch].value_or(limits.globalBatch);
  int64_t tokens = limits.sequence / pins[&D::cp].value_or(1);
  if (samples % chunks == 0 || tokens % chunks == 0)
    return std::nullopt;
  return UserError(
      "--fix loss_chunks=" + std::to_string(chunks) + " divides neither the " +
          std::to_string(tokens) + " tokens that a rank has of a sample nor the " +
          std::to_string(samples) +
          (pins.has(&D::microBatch) ? " samples of a micro-batch" : " samples of a step"),
      "the nearest that divides the tokens is loss_chunks=" +
          std::to_string(nearestOf(divisorsOf(tokens), chunks)));
}

} // namespace dtc
