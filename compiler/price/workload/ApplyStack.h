// Applies the properties of a software stack to a model's cells, before costing.
#pragma once

#include "compiler/describe/stack/SoftwareStack.h"
#include "compiler/price/workload/Cells.h"

namespace dtc {

// The one place where a stack meets the work of a model: what it joins, keeps, recomputes, moves,
// hides and reserves is set on the cells, which say what the graph says until then. The cost code
// behind knows cells alone. `compute` is the type of matrix products. Example: where attention is
// not blocked, its ops have isBlocked false and selectiveOps ends with them.
ModelCells applyStack(ModelCells cells, const SoftwareStack &stack, ComputeType compute);

// The same of one op by itself.
CellOp applyStack(CellOp op, const SoftwareStack &stack, ComputeType compute);

} // namespace dtc
