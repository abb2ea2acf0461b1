#include "compiler/decide/plan/MeshRanks.h"

#include <cassert>

namespace dtc {

// Returns the letter of an axis in AxisOrder. Ranks of experts are the innermost ones of dp.
static char letterOf(llvm::StringRef axis) { return axis == "ep" ? 'd' : axis.front(); }

std::vector<uint32_t> meshRanks(const Plan &plan, llvm::ArrayRef<llvm::StringRef> names,
                                llvm::ArrayRef<int64_t> sizes) {
  // Distance in a stage's list of ranks between neighbours along each axis.
  std::vector<int64_t> strides(names.size());
  int64_t stride = 1;
  for (char letter : plan.decisions.order)
    for (size_t axis = names.size(); axis-- > 0;)
      if (letter != 'p' && letterOf(names[axis]) == letter) {
        strides[axis] = stride;
        stride *= sizes[axis];
      }
  std::vector<uint32_t> ranks(static_cast<size_t>(stride * plan.decisions.pp));
  bool isOwn = false;
  for (size_t position = 0; position < ranks.size(); ++position) {
    size_t stage = 0, number = 0, left = position;
    for (size_t axis = names.size(); axis-- > 0;) {
      auto size = static_cast<size_t>(sizes[axis]);
      if (names[axis].front() == 'p')
        stage = left % size;
      else
        number += left % size * static_cast<size_t>(strides[axis]);
      left /= size;
    }
    assert(left == 0 && "the plan and the program have as many ranks");
    ranks[position] = static_cast<uint32_t>(plan.stages[stage].ranks[number]);
    isOwn |= ranks[position] != position;
  }
  return isOwn ? ranks : std::vector<uint32_t>();
}

} // namespace dtc
