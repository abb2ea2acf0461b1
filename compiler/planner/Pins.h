// The choices that a person has made with --fix. Internal to this folder.
#pragma once

#include "compiler/estimate/StepEstimate.h"
#include "compiler/support/Error.h"

#include <map>

namespace dtc {

struct Pins {
  std::optional<int64_t> dp, tp, pp, cp, ep, sp, zero, zeroGroup, microBatch, virtualStages;
  std::optional<ScheduleKind> schedule; // ZeroBubbleH1 stands for ZeroBubbleV too
  std::optional<Recompute> recompute;
  // Placements over tensor parallelism: those that were searched for (true), or Megatron's.
  // Where `sp` is given they are Megatron's, too.
  std::optional<bool> searchedPlacements;
  std::optional<int64_t> overlap, bucketMebibytes; // of gradients with the backward pass
  std::optional<int64_t> offload;                  // optimizer states in the host's memory
  std::optional<AxisOrder> order;

  // Decisions() but for what is pinned.
  Decisions decisions() const;
  // Whether a pin asks for what 'dtc compile' can't lower yet.
  bool beyondExecutable() const;
  bool allows(ScheduleKind kind) const;
};

// Errors: a key that does not exist, a value that is not of its kind.
Result<Pins> readPins(const std::map<std::string, std::string> &fixed);

} // namespace dtc
