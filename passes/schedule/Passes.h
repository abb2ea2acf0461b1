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

// Options of the schedule phase.
struct ScheduleOptions {
  int64_t bucketBytes = 25 << 20; // largest merged collective, in bytes; 0 merges none
  bool overlap = true;            // puts collectives on a stream of their own
  int64_t slots = 1;              // micro-batches in flight at once
  bool splitBackward = false;     // puts weight gradients in a task of their own
  bool roll = true;               // emits equal layers once, in a repeat
  // Merges the collectives of a step that run once, and overlaps them with compute; those of every
  // micro-batch always are.
  bool once = true;
  // For GPUs: splits long sums into two steps (dtc-split-sums) and fuses kernels into the matrix
  // products before them (dtc-fuse-epilogues).
  bool onGpu = false;
  // Gives buffers offsets in the arena, and checks the program; callers that only ask for its needs
  // turn these off.
  bool planMemory = true, check = true;
};

// Turns a partitioned module with kernel functions into one with a planned and checked exec.program
// @step, unless options turn steps off. The same as the pipeline `dtc-schedule` of dtc-opt.
void buildSchedulePipeline(mlir::OpPassManager &manager, const ScheduleOptions &options = {});

// Checks the planned programs of a module and emits equal layers once, if the schedule phase ran
// without `check` and `roll`. The result is that of a schedule phase with both.
void buildFinishPipeline(mlir::OpPassManager &manager);

// Registers the passes and the pipeline.
void registerDtcSchedulePasses();

} // namespace dtc
