// The schedule phase as one pipeline.
#include "passes/schedule/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

void dtc::buildSchedulePipeline(OpPassManager &manager, const ScheduleOptions &options) {
  // The step is tasks over buffers, and their order; every value has a buffer of its own.
  LowerToExecOptions lowerOptions;
  lowerOptions.slots = options.slots;
  lowerOptions.splitBackward = options.splitBackward;
  manager.addPass(createLowerToExec(lowerOptions));
  // Products do what else is done to their results, where the device's can.
  if (options.onGpu)
    manager.addPass(createFuseEpilogues());
  OpPassManager &program = manager.nest<exec::ProgramOp>();
  // No copy is left that better placement of its source avoids.
  program.addPass(createReuseBuffers());
  // Parameters that rest split are whole for one block at a time, or two.
  PrefetchGathersOptions prefetchOptions;
  prefetchOptions.bucketBytes = options.bucketBytes;
  prefetchOptions.ahead = options.overlap;
  program.addPass(createPrefetchGathers(prefetchOptions));
  // Gradient reductions stand where their gradients are complete, and are few.
  BucketCollectivesOptions bucketOptions;
  bucketOptions.bucketBytes = options.bucketBytes;
  bucketOptions.once = options.once;
  program.addPass(createBucketCollectives(bucketOptions));
  // Collectives that compute need not wait for run beside it.
  AssignStreamsOptions streamOptions;
  streamOptions.once = options.once;
  if (options.overlap)
    program.addPass(createAssignStreams(streamOptions));
  // What stages send each other goes on beside compute.
  program.addPass(createOverlapTransfers());
  // Every buffer has an offset, the arena a size.
  if (options.place)
    program.addPass(createPlanMemory());
  if (options.check)
    program.addPass(createVerifyExec());
  // Alike layers stand there once, and do what was checked.
  if (options.roll)
    program.addPass(createRollLayers());
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
  Option<bool> roll{*this, "roll", llvm::cl::desc("Alike layers stand there once"),
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
