// Builds the schedule phase as one pipeline.
#include "passes/schedule/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

static void addFinish(OpPassManager &program, bool check, bool roll) {
  if (check)
    program.addPass(dtc::createVerifyExec());
  // Emits equal layers once; runs after the check and keeps the program's behaviour.
  if (roll)
    program.addPass(dtc::createRollLayers());
}

void dtc::buildSchedulePipeline(OpPassManager &manager, const ScheduleOptions &options) {
  // Turns the step into tasks over buffers, and their order; every value has a buffer of its own.
  LowerToExecOptions lowerOptions;
  lowerOptions.slots = options.slots;
  lowerOptions.splitBackward = options.splitBackward;
  manager.addPass(createLowerToExec(lowerOptions));
  // Fuses kernels into the matrix products before them if the device supports it.
  if (options.onGpu)
    manager.addPass(createFuseEpilogues());
  OpPassManager &program = manager.nest<exec::ProgramOp>();
  // Removes copies that a better placement of their source avoids.
  program.addPass(createReuseBuffers());
  // Gathers parameters that are stored split so that they are whole for one or two blocks at a
  // time.
  PrefetchGathersOptions prefetchOptions;
  prefetchOptions.bucketBytes = options.bucketBytes;
  prefetchOptions.ahead = options.overlap;
  program.addPass(createPrefetchGathers(prefetchOptions));
  // Moves gradient reductions to where their gradients are complete, and merges them.
  BucketCollectivesOptions bucketOptions;
  bucketOptions.bucketBytes = options.bucketBytes;
  bucketOptions.once = options.once;
  program.addPass(createBucketCollectives(bucketOptions));
  // Overlaps collectives that compute need not wait for.
  AssignStreamsOptions streamOptions;
  streamOptions.once = options.once;
  if (options.overlap)
    program.addPass(createAssignStreams(streamOptions));
  // Overlaps transfers between stages with compute.
  program.addPass(createOverlapTransfers());
  // Gives every buffer an offset, and the arena a size.
  if (options.planMemory)
    program.addPass(createPlanMemory());
  addFinish(program, options.check, options.roll);
}

void dtc::buildFinishPipeline(OpPassManager &manager) {
  addFinish(manager.nest<exec::ProgramOp>(), /*check=*/true, /*roll=*/true);
}

namespace {
struct PipelineOptions : PassPipelineOptions<PipelineOptions> {
  Option<int64_t> bucketBytes{*this, "bucket-bytes",
                              llvm::cl::desc("Largest merged collective, in bytes"),
                              llvm::cl::init(25 << 20)};
  Option<bool> overlap{*this, "overlap",
                       llvm::cl::desc("Run collectives of data parallelism beside compute"),
                       llvm::cl::init(true)};
  Option<int64_t> slots{*this, "slots", llvm::cl::desc("Micro-batches under way at once"),
                        llvm::cl::init(1)};
  Option<bool> splitBackward{*this, "split-backward",
                             llvm::cl::desc("Weight gradients in a task of their own"),
                             llvm::cl::init(false)};
  Option<bool> roll{*this, "roll", llvm::cl::desc("Equal layers stand there once"),
                    llvm::cl::init(true)};
  Option<bool> onGpu{*this, "on-gpu",
                     llvm::cl::desc("Products do what kernels would do to their results"),
                     llvm::cl::init(false)};
};
} // namespace

void dtc::registerDtcSchedulePasses() {
  registerDtcScheduleEachPasses();
  PassPipelineRegistration<PipelineOptions>(
      "dtc-schedule", "Turns the partitioned step into a planned exec.program",
      [](OpPassManager &manager, const PipelineOptions &options) {
        buildSchedulePipeline(manager, {.bucketBytes = options.bucketBytes,
                                        .overlap = options.overlap,
                                        .slots = options.slots,
                                        .splitBackward = options.splitBackward,
                                        .roll = options.roll,
                                        .onGpu = options.onGpu});
      });
}
