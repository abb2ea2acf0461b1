#include "compiler/search/solver/Reduction.h"

namespace dtc::solver {

std::vector<int32_t> Reduction::lift(std::span<const int32_t> choice) const {
  std::vector<int32_t> result(originalNodes, 0);
  for (size_t i = 0; i < kept.size(); ++i)
    result[kept[i]] = origin[i][choice[i]];
  for (auto it = removals.rbegin(); it != removals.rend(); ++it) {
    int32_t row = it->a >= 0 ? it->rowOf[result[it->a]] : 0;
    int32_t column = it->b >= 0 ? it->columnOf[result[it->b]] : 0;
    result[it->node] = it->values[static_cast<size_t>(row) * it->columns + column];
  }
  return result;
}

} // namespace dtc::solver
