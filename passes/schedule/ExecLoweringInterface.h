// How an op of the step becomes instructions, and where the models of it are registered.
#pragma once

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/OpDefinition.h"

namespace dtc {
class ExecEmitter;
}

#include "passes/schedule/ExecLoweringInterface.h.inc"

namespace dtc {

// Attaches ExecLoweringInterface to the ops of the graph and shard dialects that have a lowering. A
// new op: write a model in one of the Lower*.cpp files and attach it there.
void registerExecLowering(mlir::DialectRegistry &registry);

// One per file of models.
void registerStructureLowering(mlir::DialectRegistry &registry);
void registerLibraryLowering(mlir::DialectRegistry &registry);
void registerShapeLowering(mlir::DialectRegistry &registry);
void registerCollectiveLowering(mlir::DialectRegistry &registry);
void registerTransferLowering(mlir::DialectRegistry &registry);

} // namespace dtc
