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

// The buffers that have offsets, sorted by them, in runs of neighbours. What a run knows of all of
// its buffers spares a look at each: most runs are live together with a buffer as a whole, without
// a gap that is large enough, or not at all.
class PlacedBuffers {
public:
  // Returns the smallest gap that the buffer fits in among those that are live together with it,
  // the lowest of equal ones; else the end of the highest.
  int64_t findOffset(const PlannedBuffer &buffer) const {
    Search search{buffer};
    for (const Run &run : runs) {
      if (run.earliestBegin > buffer.end || run.latestEnd < buffer.begin)
        continue;
      if (run.latestBegin <= buffer.end && run.earliestEnd >= buffer.begin &&
          run.largestGap < buffer.bytes) {
        search.pass(run.placed.front().offset, run.top);
        continue;
      }
      for (const Placed &other : run.placed)
        if (buffer.begin <= other.end && other.begin <= buffer.end)
          search.pass(other.offset, other.top);
    }
    return search.bestOffset >= 0 ? search.bestOffset : search.top;
  }

  // Adds a buffer behind those that lie as low.
  void add(const PlannedBuffer &buffer, int64_t offset) {
    auto next = llvm::upper_bound(runs, offset, [](int64_t value, const Run &run) {
      return value < run.placed.front().offset;
    });
    if (runs.empty())
      next = runs.insert(next, Run()) + 1;
    Run &run = *(next == runs.begin() ? next : next - 1);
    auto position = llvm::upper_bound(run.placed, offset, [](int64_t value, const Placed &other) {
      return value < other.offset;
    });
    run.placed.insert(position, {offset, offset + buffer.bytes, buffer.begin, buffer.end});
    if (run.placed.size() <= kLongest)
      return run.summarize();
    Run upper;
    upper.placed.assign(run.placed.begin() + kLongest / 2, run.placed.end());
    run.placed.resize(kLongest / 2);
    run.summarize();
    upper.summarize();
    runs.insert(runs.begin() + (&run - runs.data()) + 1, std::move(upper));
  }

private:
  static constexpr size_t kLongest = 48; // buffers of a run

  struct Placed {
    int64_t offset, top, begin, end;
  };

  struct Run {
    void summarize() {
      earliestBegin = earliestEnd = std::numeric_limits<int64_t>::max();
      latestBegin = latestEnd = std::numeric_limits<int64_t>::min();
      top = placed.front().offset;
      largestGap = 0;
      for (const Placed &each : placed) {
        earliestBegin = std::min(earliestBegin, each.begin);
        latestBegin = std::max(latestBegin, each.begin);
        earliestEnd = std::min(earliestEnd, each.end);
        latestEnd = std::max(latestEnd, each.end);
        largestGap = std::max(largestGap, each.offset - top);
        top = std::max(top, each.top);
      }
    }

    std::vector<Placed> placed;
    int64_t earliestBegin, latestBegin, earliestEnd, latestEnd;
    int64_t top;        // of the highest buffer
    int64_t largestGap; // between neighbours
  };

  struct Search {
    // Goes on from the buffers below `offset`, which end at `top`.
    void pass(int64_t offset, int64_t otherTop) {
      int64_t gap = offset - top;
      if (gap >= buffer.bytes && gap < bestGap) {
        bestGap = gap;
        bestOffset = top;
      }
      top = std::max(top, otherTop);
    }

    const PlannedBuffer &buffer;
    int64_t bestOffset = -1, bestGap = std::numeric_limits<int64_t>::max(), top = 0;
  };

  std::vector<Run> runs;
};
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
  std::vector<std::vector<unsigned>> seen;
  for (int round = 0; round < kRepairs && isAbove(kRepairedShare); ++round) {
    std::vector<unsigned> first, rest;
    for (unsigned index : order)
      (last[index] + buffers[index].bytes > lowerBound ? first : rest).push_back(index);
    order = std::move(first);
    llvm::append_range(order, rest);
    if (llvm::is_contained(seen, order))
      return; // what follows is what followed before
    seen.push_back(order);
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
  std::vector<int64_t> result(buffers.size());
  PlacedBuffers placed;
  for (unsigned index : order) {
    result[index] = placed.findOffset(buffers[index]);
    placed.add(buffers[index], result[index]);
  }
  return result;
}
