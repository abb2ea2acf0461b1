// Places buffers in one arena so that buffers that are live together do not overlap.
#include "passes/schedule/MemoryPlan.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <limits>
#include <numeric>

using namespace dtc;

namespace {
bool liveTogether(const PlannedBuffer &a, const PlannedBuffer &b) {
  return a.begin <= b.end && b.begin <= a.end;
}

double area(const PlannedBuffer &buffer) {
  return static_cast<double>(buffer.bytes) * static_cast<double>(buffer.end - buffer.begin + 1);
}
} // namespace

MemoryPlan::MemoryPlan(llvm::ArrayRef<PlannedBuffer> wanted)
    : buffers(wanted.begin(), wanted.end()) {
  for (PlannedBuffer &buffer : buffers)
    buffer.bytes = static_cast<int64_t>(llvm::alignTo(buffer.bytes, kBufferAlignment));
  computeLowerBound();
  std::vector<unsigned> order(buffers.size());
  auto tryBy = [&](auto before) {
    if (arenaBytes == lowerBound)
      return;
    std::iota(order.begin(), order.end(), 0u);
    llvm::sort(order, [&](unsigned a, unsigned b) {
      bool first = before(buffers[a], buffers[b]);
      return first || (!before(buffers[b], buffers[a]) && a < b);
    });
    tryOrder(order);
  };
  tryBy([](const PlannedBuffer &a, const PlannedBuffer &b) { return a.bytes > b.bytes; });
  tryBy([](const PlannedBuffer &a, const PlannedBuffer &b) { return area(a) > area(b); });
  tryBy([](const PlannedBuffer &a, const PlannedBuffer &b) {
    return std::pair(a.end - a.begin, a.bytes) > std::pair(b.end - b.begin, b.bytes);
  });
  tryBy([](const PlannedBuffer &a, const PlannedBuffer &b) {
    return std::pair(a.begin, -a.bytes) < std::pair(b.begin, -b.bytes);
  });
}

void MemoryPlan::computeLowerBound() {
  // At equal times a buffer starts before another ends, as both ends are included.
  std::vector<std::pair<std::pair<int64_t, int>, int64_t>> changes;
  for (const PlannedBuffer &buffer : buffers) {
    changes.push_back({{buffer.begin, 0}, buffer.bytes});
    changes.push_back({{buffer.end, 1}, -buffer.bytes});
  }
  llvm::sort(changes);
  int64_t live = 0;
  for (const auto &[time, bytes] : changes) {
    live += bytes;
    lowerBound = std::max(lowerBound, live);
  }
}

void MemoryPlan::tryOrder(llvm::ArrayRef<unsigned> order) {
  std::vector<int64_t> result(buffers.size());
  std::vector<unsigned> placed; // by offset
  int64_t bytes = 0;
  for (unsigned index : order) {
    const PlannedBuffer &buffer = buffers[index];
    int64_t bestOffset = -1, bestGap = std::numeric_limits<int64_t>::max(), top = 0;
    for (unsigned other : placed) {
      if (!liveTogether(buffer, buffers[other]))
        continue;
      int64_t gap = result[other] - top;
      if (gap >= buffer.bytes && gap < bestGap) {
        bestGap = gap;
        bestOffset = top;
      }
      top = std::max(top, result[other] + buffers[other].bytes);
    }
    result[index] = bestOffset >= 0 ? bestOffset : top;
    auto position = llvm::upper_bound(
        placed, index, [&](unsigned a, unsigned b) { return result[a] < result[b]; });
    placed.insert(position, index);
    bytes = std::max(bytes, result[index] + buffer.bytes);
  }
  if (arenaBytes >= 0 && bytes >= arenaBytes)
    return;
  arenaBytes = bytes;
  offsets = std::move(result);
}
