// Groups the axes of a mesh.
#include "compiler/search/placement/AxisGroups.h"

using namespace mlir;

namespace dtc {

std::vector<SmallVector<unsigned, 2>> axesTogether(const Mesh &mesh) {
  std::vector<SmallVector<unsigned, 2>> all;
  for (unsigned axis = 0; axis < mesh.numAxes(); ++axis) {
    SmallVector<unsigned, 2> together(1, axis);
    for (AxisRole role : {AxisRole::Data, AxisRole::Tensor})
      if (SmallVector<unsigned, 2> axes = mesh.axesOf(role); llvm::is_contained(axes, axis))
        together = std::move(axes);
    if (together.front() == axis)
      all.push_back(std::move(together));
  }
  return all;
}

int64_t ranksOf(ArrayRef<unsigned> axes, const Mesh &mesh) {
  int64_t ranks = 1;
  for (unsigned axis : axes)
    ranks *= mesh.sizes[axis];
  return ranks;
}

} // namespace dtc
