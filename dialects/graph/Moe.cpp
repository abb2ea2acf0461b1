#include "dialects/graph/Moe.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace dtc::graph;

int64_t dtc::graph::allExperts(RankedTensorType rows, std::optional<ArrayAttr> windows) {
  for (Attribute attr : windows ? windows->getValue() : ArrayRef<Attribute>())
    if (auto window = dyn_cast<WindowAttr>(attr); window && window.getLoop() == kExpertLoop)
      return std::max<int64_t>(1, window.getGlobal());
  return std::max<int64_t>(1, rows.getDimSize(0));
}

// ceil(group * top * capacity / experts), at least 1: `capacity` times the rows that an even
// routing would fill.
FailureOr<int64_t> dtc::graph::expertCapacity(int64_t group, int64_t top, double capacity,
                                              int64_t experts) {
  // Keeps rounding errors from adding a row: 64 * 2 * 1.1 / 8 is 17.6, but 10 * 2 * 1.1 / 2 is 11.
  double rows = static_cast<double>(group) * static_cast<double>(top) * capacity /
                static_cast<double>(experts);
  double whole = std::ceil(rows * (1 - 1e-12));
  if (!(whole < 9e15))
    return failure();
  return std::max<int64_t>(1, static_cast<int64_t>(whole));
}
