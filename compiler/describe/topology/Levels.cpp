#include "compiler/describe/topology/Levels.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace dtc {
namespace {

// Returns the sizes of a torus's axes for `count` groups: the most cubic ones, with short axes
// first. 32 on 3 axes is {2, 4, 4}.
std::vector<int64_t> cubicDims(int64_t count, size_t axes) {
  if (axes == 1)
    return {count};
  std::vector<int64_t> best;
  int64_t least = 0;
  for (int64_t first = 1; first <= count; ++first) {
    int64_t power = 1; // the first axis is the shortest
    for (size_t i = 0; i < axes && power <= count; ++i)
      power *= first;
    if (power > count)
      break;
    if (count % first != 0)
      continue;
    std::vector<int64_t> dims = cubicDims(count / first, axes - 1);
    dims.insert(dims.begin(), first);
    int64_t sum = std::accumulate(dims.begin(), dims.end(), int64_t(0));
    if (best.empty() || sum < least) {
      best = dims;
      least = sum;
    }
  }
  return best;
}

// Returns the part of a torus with fixed axes that `count` groups use: whole lines, then whole
// planes.
std::optional<std::vector<int64_t>> filledDims(llvm::ArrayRef<int64_t> dims, int64_t count) {
  std::vector<int64_t> used;
  for (int64_t dim : dims) {
    int64_t size = std::min(dim, count);
    if (count % size != 0)
      return std::nullopt;
    used.push_back(size);
    count /= size;
  }
  return used;
}

} // namespace

llvm::StringRef nameOf(LinkKind kind) { return kLinkNames[static_cast<size_t>(kind)]; }
llvm::StringRef nameOf(LinkShape shape) { return kShapeNames[static_cast<size_t>(shape)]; }

void takeWorst(LinkLevel &level, const LinkLevel &other) {
  level.bandwidth = std::min(level.bandwidth, other.bandwidth);
  level.latency = std::max(level.latency, other.latency);
  level.sharedBandwidth = std::min(level.sharedBandwidth, other.sharedBandwidth);
  for (size_t i = 0; i < level.subsetBandwidth.size(); ++i)
    level.subsetBandwidth[i] = std::min(level.subsetBandwidth[i], other.subsetBandwidth[i]);
}

void takeWorst(std::vector<LinkLevel> &levels, llvm::ArrayRef<LinkLevel> others) {
  for (size_t i = 0; i < levels.size(); ++i)
    takeWorst(levels[i], others[i]);
}

bool fitLevel(LinkLevel &level, int64_t count) {
  if (level.shape == LinkShape::Torus) {
    if (level.dims[0] == 0) {
      level.dims = cubicDims(count, level.dims.size());
    } else if (count != level.groupSize) {
      std::optional<std::vector<int64_t>> dims = filledDims(level.dims, count);
      if (!dims)
        return false;
      // An axis that is cut has no link between its ends.
      if (!llvm::all_of(llvm::zip(*dims, level.dims), [](auto pair) {
            return std::get<0>(pair) == std::get<1>(pair) || std::get<0>(pair) == 1;
          }))
        level.wrapFrom = 0;
      level.dims = *dims;
    }
  }
  if (level.shape == LinkShape::Direct && count > 1 && count != level.groupSize) {
    // A device keeps only its links to devices that are used.
    if (level.subsetBandwidth.empty()) {
      level.bandwidth *= static_cast<double>(count - 1) / static_cast<double>(level.groupSize - 1);
    } else {
      level.subsetBandwidth.resize(static_cast<size_t>(count) - 1);
      level.bandwidth = level.subsetBandwidth.back();
    }
  }
  level.groupSize = count;
  return true;
}

} // namespace dtc
