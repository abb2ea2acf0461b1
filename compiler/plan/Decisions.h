// Everything that is decided about how a step is spread over devices.
#pragma once

#include "compiler/pipeline/Schedule.h"

#include <array>

namespace dtc {

enum class Recompute : uint8_t { None, Selective, Full };
llvm::StringRef toString(Recompute recompute);

// Which axis is innermost on the hierarchy, then the next: a permutation of these letters.
// t tensor, c context, d data (expert parallelism lies inside c and d), p pipeline.
using AxisOrder = std::array<char, 4>;
constexpr AxisOrder kMegatronOrder{'t', 'c', 'd', 'p'};

struct Decisions {
  int64_t dp = 1, tp = 1, pp = 1, cp = 1, ep = 1;
  bool sequenceParallel = false;
  int64_t zero = 0;
  int64_t microBatch = 1, numMicroBatches = 1;
  ScheduleKind schedule = ScheduleKind::OneForwardOneBackward;
  int64_t virtualStages = 1;
  // What every layer recomputes at least, and what at most: where a stage does not fit with the
  // first, as few of its layers as need be do the second.
  Recompute recompute = Recompute::None, recomputeMost = Recompute::None;
  // As many layers in each chunk as in the others, as Megatron cuts them, instead of chunks of
  // equal seconds. Where that only divides with embedding and head counted as a layer each, they
  // are.
  bool evenStages = false;
  bool offloadOptimizer = false; // states live in the host's memory
  AxisOrder order = kMegatronOrder;
  int placement = 0; // a point of the frontier of (tp, sp); 0: Megatron's
  int partOrder = 0; // of partOrders: how stages go over unlike devices

  int64_t devices() const { return dp * tp * pp * cp; }
  bool mayRecomputeMore() const { return recomputeMost > recompute; }
  auto operator<=>(const Decisions &) const = default;
};

} // namespace dtc
