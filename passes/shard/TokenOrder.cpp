// Sets the order in which ranks of context parallelism have the tokens of a sequence.
#include "passes/shard/TokenOrder.h"

#include "dialects/graph/Context.h"

using namespace mlir;

namespace dtc {

void orderTokens(Operation *op, const Mesh &mesh, Placement &placement) {
  SmallVector<unsigned, 2> axes = mesh.axesOf(AxisRole::Context);
  if (axes.empty() || !graph::keyTravelOf(op))
    return;
  for (unsigned axis : axes)
    placement[axis].zigzag = mesh.sizes[axis] > 1 && placement[axis].isShard();
}

} // namespace dtc
