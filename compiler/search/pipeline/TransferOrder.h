// The order in which the hosts of a pipeline's stages enqueue transfers, for devices that launch
// operations in that order.
//
// NCCL launches the operations of a rank in the order in which its host enqueues them: each starts
// after all before it have started, whatever their streams, and two operations of one stream run
// one after another. If all ranks enqueue in ways that one order of all operations of the job
// agrees with, which also has every operation after those that it depends on, then no rank waits
// forever: the first operation of that order that is not over yet has started on all of its ranks,
// because what precedes it there is over. This needs nothing of streams, so that it holds however
// many tensors cross a boundary, however many collectives a task has, and even where a device runs
// operations strictly one after another.
//
// That order is the one of the schedule's own times: the collectives of a task when it starts, and
// the transfer of its result when it ends. A receive is enqueued when its sender is done, often
// some tasks before its result is read.
#pragma once

#include "compiler/search/pipeline/Schedule.h"

namespace dtc {

// A task of a stage, or the transfer of its input or result.
struct PipelineStep {
  enum Kind {
    Compute,
    Receive, // of what the task reads
    Send,    // of what the task made
  };
  Kind kind = Compute;
  PipelineTask task;
  friend bool operator==(const PipelineStep &a, const PipelineStep &b) {
    return a.kind == b.kind && a.task == b.task;
  }
};

// Returns, per stage, its tasks in the order of `schedule` with the transfers between them: both
// ends of each at the same place of one order of all steps. Durations are rounded to an eighth of
// the shortest, so that micro-batches repeat themselves exactly. `schedule` must be one of
// `problem`'s.
// Example: 2 stages and 2 micro-batches of 1F1B are F0 send F1 receive send B0 receive B1, and
// receive F0 receive B0 send F1 B1 send.
std::vector<std::vector<PipelineStep>> orderTransfers(const PipelineSchedule &schedule,
                                                      const PipelineProblem &problem);

} // namespace dtc
