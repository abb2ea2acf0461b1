// The ways in which a layer saves fewer bytes on its device.
#include "compiler/price/estimate/LayerWay.h"

#include "compiler/price/estimate/CellCost.h"

namespace dtc {

double keptBy(const BlockCost &block, LayerWay way) {
  return way.isOnHost ? 0 : keptOf(block, way.recompute);
}

// Selective recomputation, which is cheap, holds no more than the op at hand reads.
double workspaceOf(const BlockCost &block, LayerWay way) {
  double kept = keptOf(block, way.recompute);
  return (way.recompute <= Recompute::Selective ? 0 : block.kept - kept) +
         (way.isOnHost ? 2 * kept : 0);
}

} // namespace dtc
