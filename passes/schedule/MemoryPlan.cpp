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
constexpr int kRepairs = 24;
// an excess below one in so many bytes is not worth a repair
constexpr int64_t kRepairedShare = 1024;
constexpr int64_t kManyRepairsShare =
    100; // an excess below one in so many bytes is not worth a repair of each order

double area(const PlannedBuffer &buffer) {
  return static_cast<double>(buffer.bytes) * static_cast<double>(buffer.end - buffer.begin + 1);
}
} // namespace

int64_t dtc::timeOfMostLive(llvm::ArrayRef<PlannedBuffer> buffers) {
  // Sorts starts before ends at equal times: both ends of a live range are included.
  std::vector<std::pair<std::pair<int64_t, int>, int64_t>> changes;
  for (const PlannedBuffer &buffer : buffers) {
    changes.push_back({{buffer.begin, 0}, buffer.bytes});
    changes.push_back({{buffer.end, 1}, -buffer.bytes});
  }
  llvm::sort(changes);
  int64_t live = 0, most = 0, when = 0;
  for (const auto &[time, bytes] : changes) {
    live += bytes;
    if (live > most) {
      most = live;
      when = time.first;
    }
  }
  return when;
}

MemoryPlan::MemoryPlan(llvm::ArrayRef<PlannedBuffer> wanted, int64_t goodEnough)
    : buffers(wanted.begin(), wanted.end()), goodEnough(goodEnough) {
  for (PlannedBuffer &buffer : buffers)
    buffer.bytes = static_cast<int64_t>(llvm::alignTo(buffer.bytes, kBufferAlignment));
  int64_t fullest = timeOfMostLive(buffers);
  for (const PlannedBuffer &buffer : buffers)
    if (buffer.begin <= fullest && fullest <= buffer.end)
      lowerBound += buffer.bytes;
  std::vector<unsigned> order(buffers.size());
  std::vector<std::vector<unsigned>> tried; // best first
  auto tryBy = [&](auto before) {
    if (arenaBytes == lowerBound || isGoodEnough())
      return;
    std::iota(order.begin(), order.end(), 0u);
    llvm::sort(order, [&](unsigned a, unsigned b) {
      bool first = before(buffers[a], buffers[b]);
      return first || (!before(buffers[b], buffers[a]) && a < b);
    });
    tried.insert(keepIfBest(place(order)) ? tried.begin() : tried.end(), order);
  };
  tryBy([](const PlannedBuffer &a, const PlannedBuffer &b) { return a.bytes > b.bytes; });
  tryBy([](const PlannedBuffer &a, const PlannedBuffer &b) { return area(a) > area(b); });
  tryBy([](const PlannedBuffer &a, const PlannedBuffer &b) {
    return std::pair(a.end - a.begin, a.bytes) > std::pair(b.end - b.begin, b.bytes);
  });
  tryBy([](const PlannedBuffer &a, const PlannedBuffer &b) {
    return std::pair(a.begin, -a.bytes) < std::pair(b.begin, -b.bytes);
  });
  for (size_t i = 0; i < tried.size(); ++i)
    if (i == 0 || isAbove(kManyRepairsShare))
      repair(std::move(tried[i]));
}

bool MemoryPlan::isAbove(int64_t share) const {
  return !isGoodEnough() && (arenaBytes - lowerBound) * share > lowerBound;
}

void MemoryPlan::repair(std::vector<unsigned> order) {
  std::vector<int64_t> last = offsets;
  for (int round = 0; round < kRepairs && isAbove(kRepairedShare); ++round) {
    std::vector<unsigned> first, rest;
    for (unsigned index : order)
      (last[index] + buffers[index].bytes > lowerBound ? first : rest).push_back(index);
    order = std::move(first);
    llvm::append_range(order, rest);
    last = place(order);
    keepIfBest(last);
  }
}

bool MemoryPlan::keepIfBest(const std::vector<int64_t> &wanted) {
  int64_t bytes = 0;
  for (auto [offset, buffer] : llvm::zip(wanted, buffers))
    bytes = std::max(bytes, offset + buffer.bytes);
  if (arenaBytes >= 0 && bytes >= arenaBytes)
    return false;
  arenaBytes = bytes;
  offsets = wanted;
  return true;
}

std::vector<int64_t> MemoryPlan::place(llvm::ArrayRef<unsigned> order) const {
  struct Placed {
    int64_t offset, top, begin, end;
  };
  std::vector<int64_t> result(buffers.size());
  std::vector<Placed> placed; // sorted by offset
  placed.reserve(buffers.size());
  for (unsigned index : order) {
    const PlannedBuffer &buffer = buffers[index];
    int64_t bestOffset = -1, bestGap = std::numeric_limits<int64_t>::max(), top = 0;
    for (const Placed &other : placed) {
      if (buffer.begin > other.end || other.begin > buffer.end)
        continue; // not live at the same time
      int64_t gap = other.offset - top;
      if (gap >= buffer.bytes && gap < bestGap) {
        bestGap = gap;
        bestOffset = top;
      }
      top = std::max(top, other.top);
    }
    int64_t offset = bestOffset >= 0 ? bestOffset : top;
    result[index] = offset;
    auto position = llvm::upper_bound(
        placed, offset, [](int64_t value, const Placed &other) { return value < other.offset; });
    placed.insert(position, {offset, offset + buffer.bytes, buffer.begin, buffer.end});
  }
  return result;
}
