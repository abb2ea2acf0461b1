// The one routine that moves a tensor from one placement to another.
#pragma once

#include "passes/shard/Mesh.h"

namespace dtc {

// Emits the collectives that take `local` (this rank's part of a tensor of type `global` placed
// `from`) to placement `to`, and returns the local value. Per mesh axis:
//   partial -> replicate  all_reduce          partial -> shard    reduce_scatter
//   shard -> replicate    all_gather          replicate -> shard  all_slice (no communication)
//   shard(a) -> shard(b)  all_to_all, or gather and slice where sizes do not divide
//   replicate -> partial  scale by 1/n
// Padding is made explicit, so every collective divides evenly. Partial to another kind of partial
// is never asked for. Every collective carries `communication`, what the tensor is to the step.
mlir::Value reshard(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value local,
                    mlir::RankedTensorType global, const Placement &from, const Placement &to,
                    const Mesh &mesh, graph::CommunicationAttr communication);

// Bytes that one rank sends for it (ring algorithms) plus a charge for each collective, the measure
// by which placements are compared.
double reshardBytes(mlir::RankedTensorType global, const Placement &from, const Placement &to,
                    const Mesh &mesh);

// Bytes of one rank's part.
double localBytes(mlir::RankedTensorType global, const Placement &placement, const Mesh &mesh);

} // namespace dtc
