// The operands of matrix products of groups of rows.
#pragma once

#include "kernels/common/ElementType.h"

#include <cstdint>

namespace dtc::cpu {

// The rows of a group follow each other, from the sum of the counts of the groups before it. A
// group has as many as its counts add up to; one below 0 counts as 0, and rows end at `rows`.
//
// Without `sumsRows` c[rows, n] = a[rows, k] * op(b[group]), where b is [groups, k, n], or [groups,
// n, k] with `transB`. Rows of c behind the last group become 0. With `sumsRows` c[groups, k, n] =
// transpose of a[rows, k] * b[rows, n], over the rows of each group, which is 0 for a group without
// rows; with `accumulate` it is added to c, which is f32.
//
// Nothing is read of the rows behind the last group, nor of b[group] if the group has no rows.
// Cost: 2 * k * n flops for each row of a group.
struct GroupedGemmArgs {
  const void *a = nullptr, *b = nullptr;
  void *c = nullptr;
  const int32_t *counts = nullptr; // [samples, groups]
  ElementType type = ElementType::F32, resultType = ElementType::F32;
  int64_t groups = 0, samples = 0, rows = 0, k = 0, n = 0;
  bool transB = false, sumsRows = false, accumulate = false;
};

} // namespace dtc::cpu
