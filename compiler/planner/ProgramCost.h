// Time and memory of a partitioned step, read off the very program that will be compiled.
#pragma once

#include "compiler/cost/Cost.h"
#include "compiler/planner/Plan.h"
#include "passes/shard/Mesh.h"

namespace dtc {

struct ProgramCost {
  double computeSeconds = 0; // kernels of one step on one rank
  double matrixSeconds = 0;  // of these, matrix products
  double blockingSeconds =
      0; // collectives that compute waits for (tensor and sequence parallelism)
  double gradientSeconds = 0; // collectives of gradients and parameters, once per step
  double hiddenSeconds = 0;   // of these, what overlaps the backward pass of the last micro-batch
  PlanMemory memory;

  double exposedSeconds() const { return blockingSeconds + gradientSeconds - hiddenSeconds; }
  double stepSeconds() const { return computeSeconds + exposedSeconds(); }
};

// How tensors of the f32 graph are held when the plan computes in another precision.
struct PrecisionModel {
  ComputeType type = ComputeType::F32;
  double activationScale = 1; // bytes of an activation or gradient / bytes in f32
  double parameterScale = 1;  // bytes of a parameter, a master copy included / bytes in f32
};

// f32, or bf16 and f16 with 16-bit activations and gradients and f32 master parameters beside
// 16-bit ones.
PrecisionModel precisionModel(llvm::StringRef precision);

// `module` is after the shard phase: '@microbatch' and '@update' on local types, blocks not
// inlined. Each distinct block is costed once. Ranks are numbered row-major over the mesh and laid
// out on the topology in that order.
ProgramCost costProgram(mlir::ModuleOp module, const Mesh &mesh, const Topology &topology,
                        int64_t microBatches, const PrecisionModel &precision);

} // namespace dtc
