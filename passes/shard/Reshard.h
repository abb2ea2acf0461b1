// Emits the steps that move a tensor from one placement to another.
#pragma once

#include "passes/shard/Mesh.h"

namespace dtc {

// Emits the steps (see reshardSteps) that take `local`, this rank's shard of a tensor of type
// `global` with placement `from`, to placement `to`, and returns the local value. Every collective
// carries `communication`, which names the tensor's role in the step.
mlir::Value reshard(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value local,
                    mlir::RankedTensorType global, const Placement &from, const Placement &to,
                    const Mesh &mesh, graph::CommunicationAttr communication);

} // namespace dtc
