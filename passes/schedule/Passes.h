// Passes that turn the partitioned step into a planned list of instructions.
#pragma once

#include "dialects/exec/Exec.h"
#include "dialects/graph/Graph.h"
#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir {
class OpPassManager;
}

namespace dtc {

#define GEN_PASS_DECL
#include "passes/schedule/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/schedule/Passes.h.inc"

struct ScheduleOptions {
  int64_t bucketBytes = 25 << 20; // largest merged collective; 0 merges none
  bool overlap = true;            // collectives on a stream of their own
  int64_t slots = 1;              // micro-batches under way at once
  bool splitBackward = false;     // weight gradients in a task of their own
  bool roll = true;               // alike layers stand there once
  // Whether what a step sends once is merged, and goes beside compute; what micro-batches send does.
  bool once = true;
  // For GPUs: long sums are made in two steps (dtc-split-sums), and products take over what kernels do to their results
  // (dtc-fuse-epilogues).
  bool onGpu = false;
  // Whether buffers get offsets in the arena, and whether the program is checked: not for who only asks what it needs.
  bool place = true, check = true;
};

// From a partitioned module with kernel functions to one with a planned and checked exec.program
// @step, unless options say otherwise. Also the pipeline `dtc-schedule` of dtc-opt.
void buildSchedulePipeline(mlir::OpPassManager &manager, const ScheduleOptions &options = {});

// Registers the passes and the pipeline.
void registerDtcSchedulePasses();

} // namespace dtc
