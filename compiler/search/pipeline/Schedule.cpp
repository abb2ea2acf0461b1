#include "compiler/search/pipeline/Schedule.h"

#include "compiler/search/pipeline/BuildingBlock.h"

#include <algorithm>

using namespace dtc;

llvm::StringRef dtc::toString(PipelineTaskKind kind) {
  switch (kind) {
  case PipelineTaskKind::Forward:
    return "F";
  case PipelineTaskKind::Backward:
  case PipelineTaskKind::BackwardInput:
    return "B";
  case PipelineTaskKind::BackwardWeight:
    return "W";
  }
  return "";
}

// Sources: Qi et al., table 1 and 2 (H1, 2P as its H2, V); BuildingBlock.h (V-Half, V-Min);
// Narayanan et al., section 2.2 (GPipe, 1F1B); the warm-up count of Megatron-LM's
// forward_backward_pipelining_with_interleaving plus the one of steady state.
InFlight dtc::inFlight(ScheduleKind kind, int stages, int virtualStages, int microBatches,
                       int stage) {
  int64_t all = int64_t(microBatches) * virtualStages, after = stages - 1 - stage;
  switch (kind) {
  case ScheduleKind::GPipe:
    return {all, all};
  case ScheduleKind::OneForwardOneBackward:
    return {std::min(all, after + 1), std::min(all, after + 1)};
  case ScheduleKind::Interleaved: {
    int64_t warmup = virtualStages == 1 ? after : int64_t(stages) * (virtualStages - 1) + 2 * after;
    return {std::min(all, warmup + 1), std::min(all, warmup + 1)};
  }
  case ScheduleKind::ZeroBubbleH1:
    return {std::min(all, after + 1), std::min<int64_t>(all, stages)};
  case ScheduleKind::ZeroBubbleV:
    return {std::min(all, 2 * int64_t(stages)), std::min(all, 2 * int64_t(stages))};
  case ScheduleKind::ZeroBubble2P:
    return {std::min(all, 2 * after + 1), std::min<int64_t>(all, 2 * int64_t(stages) - 1)};
  case ScheduleKind::VHalf:
  case ScheduleKind::VMin: {
    int64_t peak = std::min<int64_t>(all, blockPeak(kind, stages));
    return {peak, peak};
  }
  }
  return {};
}
