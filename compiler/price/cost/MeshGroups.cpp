// Groups of ranks along the axes of a logical mesh.
#include "compiler/price/cost/MeshGroups.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace dtc {

llvm::SmallVector<RankGroup> meshGroups(llvm::ArrayRef<int64_t> sizesOuterToInner) {
  llvm::SmallVector<RankGroup> groups(sizesOuterToInner.size());
  int64_t stride = 1;
  for (size_t i = sizesOuterToInner.size(); i-- > 0;) {
    groups[i] = {{sizesOuterToInner[i], stride}};
    stride *= sizesOuterToInner[i];
  }
  return groups;
}

RankGroup jointGroup(llvm::ArrayRef<RankGroup> groups) {
  RankGroup joint;
  for (const RankGroup &group : groups)
    llvm::append_range(joint, group);
  llvm::sort(joint, [](const RankSpan &a, const RankSpan &b) { return a.stride < b.stride; });
  // Neighbouring spans are one: {{2, 1}, {4, 2}} is {{8, 1}}, but the parts are kept as they are
  // where a level could split them otherwise.
  return joint;
}

RankGroup partOfGroup(const RankGroup &group, int64_t size, int64_t stride) {
  RankGroup part;
  for (const RankSpan &span : group) {
    if (stride >= span.size) { // all of its ranks are passed over
      stride /= span.size;
      continue;
    }
    int64_t taken = std::min(size, span.size / stride);
    part.push_back({taken, span.stride * stride});
    size /= taken;
    stride = 1;
    if (size == 1)
      break;
  }
  return part;
}

} // namespace dtc
