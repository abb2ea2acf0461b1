// Plans for the tests of exports.
#pragma once

#include "compiler/show/export/PlanView.h"

namespace dtc::launch {

// Returns a plan with these layers per chunk, without recomputation, on ranks in their order, with
// ZeRO-1 and one step's micro-batches. Its axes are dp 2 and pp.
inline Plan planOf(std::vector<int64_t> layersOfChunks, int64_t virtualStages = 1) {
  Plan plan;
  Decisions &d = plan.decisions;
  d.virtualStages = virtualStages;
  d.pp = static_cast<int64_t>(layersOfChunks.size()) / virtualStages;
  d.dp = 2;
  d.zero = 1;
  d.numMicroBatches = 2 * d.pp;
  if (virtualStages > 1)
    d.schedule = ScheduleKind::Interleaved;
  plan.globalBatch = 4 * d.pp;
  plan.devices = d.devices();
  plan.sequenceLength = 1024;
  plan.precision = Precision::BF16;
  plan.stages.resize(static_cast<size_t>(d.pp));
  int64_t first = 0;
  for (size_t chunk = 0; chunk < layersOfChunks.size(); ++chunk) {
    PlanStage &stage = plan.stages[chunk % plan.stages.size()];
    int64_t last = first + layersOfChunks[chunk] - 1;
    stage.chunks.push_back({first, last});
    stage.recompute.insert(stage.recompute.end(), static_cast<size_t>(layersOfChunks[chunk]),
                           "none");
    first = last + 1;
  }
  for (int64_t stage = 0; stage < d.pp; ++stage)
    plan.stages[static_cast<size_t>(stage)].ranks = {2 * stage, 2 * stage + 1};
  return plan;
}

// Returns a stack with gradients of 32 bits and selective recomputation of attention.
inline SoftwareStack plainStack() {
  SoftwareStack stack;
  stack.name = "plain";
  stack.reduceBytes = stack.gradientBytes = 4;
  stack.selectiveAttention = true;
  return stack;
}

} // namespace dtc::launch
