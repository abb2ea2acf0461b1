// Groups the axes of a mesh.
#include "compiler/placement/AxisGroups.h"

using namespace mlir;

namespace dtc {

std::vector<SmallVector<unsigned, 2>> axesTogether(const Mesh &mesh) {
  SmallVector<unsigned, 2> tensorAxes = mesh.axesOf(AxisRole::Tensor);
  std::vector<SmallVector<unsigned, 2>> all;
  for (unsigned axis = 0; axis < mesh.numAxes(); ++axis)
    if (!llvm::is_contained(tensorAxes, axis))
      all.push_back({axis});
    else if (axis == tensorAxes.front())
      all.push_back(tensorAxes);
  return all;
}

int64_t ranksOf(ArrayRef<unsigned> axes, const Mesh &mesh) {
  int64_t ranks = 1;
  for (unsigned axis : axes)
    ranks *= mesh.sizes[axis];
  return ranks;
}

} // namespace dtc
