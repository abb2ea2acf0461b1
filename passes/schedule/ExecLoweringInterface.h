// The lowering of ops of the step to instructions, and the registration of its external models.
#pragma once

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/OpDefinition.h"

namespace dtc {
class ExecEmitter;
}

#include "passes/schedule/ExecLoweringInterface.h.inc"

namespace dtc {

// Attaches ExecLoweringInterface to the ops of the graph and shard dialects that have a lowering.
// To add an op, write a model in one of the Lower*.cpp files and attach it there.
void registerExecLowering(mlir::DialectRegistry &registry);

// Attaches the lowering of reads and writes of parameters, of scalars and of kernel calls.
void registerStructureLowering(mlir::DialectRegistry &registry);
// Attaches the lowering of ops that have kernels in the runtime.
void registerLibraryLowering(mlir::DialectRegistry &registry);
// Attaches the lowering of ops that move elements within a rank.
void registerShapeLowering(mlir::DialectRegistry &registry);
// Attaches the lowering of shard collectives.
void registerCollectiveLowering(mlir::DialectRegistry &registry);
// Attaches the lowering of transfers between pipeline stages.
void registerTransferLowering(mlir::DialectRegistry &registry);

} // namespace dtc
