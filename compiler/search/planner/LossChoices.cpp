// Limits the chunks of tokens in which a loss can be computed.
#include "compiler/search/planner/LossChoices.h"

#include "compiler/search/planner/Divisors.h"

#include <algorithm>

namespace dtc {

using D = Decisions;

bool mayCutLoss(const Decisions &d, const SpaceLimits &limits) {
  return d.microBatch % d.lossChunks == 0 ||
         (limits.sequence > 0 && limits.sequence / d.cp % d.lossChunks == 0);
}

// Logits of a smaller share of a device's memory are computed at once, and chunks are to take less
// than the other one.
constexpr double kLargeShare = 1.0 / 8, kSmallShare = 1.0 / 64;
constexpr int64_t kMostLossChunks = 256;

llvm::SmallVector<int64_t, 4> lossChoices(Decisions d, const SpaceLimits &limits,
                                          const Pins &pins) {
  if (pins[&D::lossChunks])
    return {*pins[&D::lossChunks]};
  constexpr double kBytes = 2 * 4; // of a logit and its gradient, in f32
  double bytes =
      kBytes * static_cast<double>(limits.logits * d.microBatch) / static_cast<double>(d.cp * d.tp);
  llvm::SmallVector<int64_t, 4> choices{1};
  if (!limits.space || !limits.space->lossInChunks || limits.memoryBytes == 0 ||
      bytes < kLargeShare * limits.memoryBytes)
    return choices;
  // At 4, 16, 64 and 256 chunks, or as many more as divide something.
  for (int64_t least = 4; least <= kMostLossChunks; least = 4 * choices.back()) {
    d.lossChunks = std::max(least, choices.back() + 1);
    while (d.lossChunks <= kMostLossChunks && !mayCutLoss(d, limits))
      ++d.lossChunks;
    if (d.lossChunks > kMostLossChunks) // the most that divide something
      do
        --d.lossChunks;
      while (d.lossChunks > choices.back() && !mayCutLoss(d, limits));
    if (d.lossChunks == choices.back())
      break;
    choices.push_back(d.lossChunks);
    if (bytes / static_cast<double>(d.lossChunks) < kSmallShare * limits.memoryBytes)
      break;
  }
  return choices;
}

std::optional<UserError> findLossError(const SpaceLimits &limits, const Pins &pins) {
  int64_t chunks = pins[&D::lossChunks].value_or(1);
  int64_t samples = pins[&D::microBatch].value_or(limits.globalBatch);
  int64_t tokens = limits.sequence / pins[&D::cp].value_or(1);
  if (samples % chunks == 0 || (tokens > 0 && tokens % chunks == 0))
    return std::nullopt;
  std::string ofTokens = " tokens that a rank has of a sample",
              ofSamples =
                  pins.has(&D::microBatch) ? " samples of a micro-batch" : " samples of a step";
  return UserError(
      "--fix loss_chunks=" + std::to_string(chunks) +
          (tokens > 0 ? " divides neither the " + std::to_string(tokens) + ofTokens + " nor the "
                      : std::string(" does not divide the ")) +
          std::to_string(samples) + ofSamples,
      (tokens > 0 ? "the nearest that divides the tokens is loss_chunks="
                  : "the nearest that divides the samples is loss_chunks=") +
          std::to_string(nearestOf(divisorsOf(tokens > 0 ? tokens : samples), chunks)));
}

} // namespace dtc
