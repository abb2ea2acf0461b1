// Finds the group and the rows of a block's tile from the counts, which are data.
#pragma once

#include "kernels/cuda/Device.h"
#include "kernels/cuda/GroupedGemmParams.h"
#include "kernels/cuda/GroupedGemmTiling.h"

namespace dtc::cuda {

// The rows [first, end) of a group that a block multiplies.
struct GroupRows {
  int group; // -1: the block has a share of the rows behind the last group
  int first, end;
};

// Shared memory of the search.
struct GroupSearch {
  int64_t sums[kGroupedThreads];
  GroupRows found;

  // Returns the sum of the values of the threads up to this one. The last of `sums` is that of all,
  // until the next call, which must follow a barrier.
  DTC_DEVICE int64_t addUp(int64_t value) {
    int thread = static_cast<int>(threadIndex());
    sums[thread] = value;
    blockBarrier();
#pragma unroll 1
    for (int step = 1; step < kGroupedThreads; step *= 2) {
      int64_t before = thread >= step ? sums[thread - step] : 0;
      blockBarrier();
      sums[thread] += before;
      blockBarrier();
    }
    return sums[thread];
  }

  // Returns the rows of a tile, all tiles of the groups being numbered one after another: tiles of
  // `tileRows` rows, or with 0 one tile for all rows of each group. If there are fewer tiles,
  // returns this block's share of the rows behind the last group, as one of those from the first
  // such tile to `tiles`: each (end - first) / share, rounded up.
  DTC_DEVICE GroupRows find(const GroupedGemmParams &p, int tile, int tiles, int tileRows) {
    int thread = static_cast<int>(threadIndex());
    if (thread == 0)
      found.group = -1;
    int64_t rowsBefore = 0, tilesBefore = 0;
#pragma unroll 1
    for (int base = 0; base < p.groups; base += kGroupedThreads) {
      int group = base + thread;
      int64_t count = 0;
#pragma unroll 1
      for (int sample = 0; sample < p.samples && group < p.groups; ++sample)
        count += greatest(p.counts[int64_t(sample) * p.groups + group], 0);
      int64_t end = rowsBefore + addUp(count);
      rowsBefore += sums[kGroupedThreads - 1];
      blockBarrier();
      int first = static_cast<int>(least<int64_t>(end - count, p.rows));
      int last = static_cast<int>(least<int64_t>(end, p.rows));
      int own = group >= p.groups ? 0
                : tileRows == 0
                    ? 1
                    : static_cast<int>((int64_t(last) - first + tileRows - 1) / tileRows);
      int64_t tileEnd = tilesBefore + addUp(own);
      if (tile >= tileEnd - own && tile < tileEnd) {
        int64_t row = first + (tile - (tileEnd - own)) * tileRows;
        found = {group, static_cast<int>(row),
                 tileRows == 0 ? last : static_cast<int>(least<int64_t>(row + tileRows, last))};
      }
      tilesBefore += sums[kGroupedThreads - 1];
      blockBarrier();
    }
    GroupRows rows = found;
    if (rows.group >= 0)
      return rows;
    int64_t begin = least<int64_t>(rowsBefore, p.rows), rest = p.rows - begin;
    int64_t share = tiles - tilesBefore, index = tile - tilesBefore;
    int64_t each = (rest + share - 1) / share;
    rows.first = static_cast<int>(least<int64_t>(begin + index * each, p.rows));
    rows.end = static_cast<int>(least<int64_t>(begin + (index + 1) * each, p.rows));
    return rows;
  }
};

// Writes zeros to the block's share of the rows behind the last group, in a tile of columns.
template <typename R>
DTC_DEVICE void clearRows(const GroupedGemmParams &p, const GroupRows &rows, int column) {
  auto c = static_cast<R *>(p.c);
  int columns = least(kGroupedColumns, p.n - column);
  int64_t all = int64_t(rows.end - rows.first) * columns;
  for (int64_t i = threadIndex(); i < all; i += kGroupedThreads)
    c[(rows.first + i / columns) * p.n + column + i % columns] = narrow<R>(0);
}

} // namespace dtc::cuda
