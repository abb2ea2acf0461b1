// Decides whether stages can fit, and be as fast as they would have to be.
#include "compiler/price/estimate/StageFit.h"

#include "compiler/price/estimate/LayerMixes.h"
#include "compiler/price/estimate/StageBounds.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dtc {
namespace {

// Sums in another order differ in their last bits.
constexpr double kRounding = 1e-9;

// The bytes that a layer frees by saving less, and the seconds that this takes.
struct Freed {
  double bytes, seconds;
};

// A bound: to free x bytes takes a layer, or the mean of several, at least atZero + perByte x
// seconds.
struct FreeingBound {
  double atZero, perByte;
};

// Returns the lines of the lower convex hull of all ways and of the layer that frees nothing.
llvm::SmallVector<FreeingBound, 8> boundsOf(llvm::SmallVector<Freed, 32> ways) {
  llvm::sort(ways, [](const Freed &a, const Freed &b) {
    return std::pair(a.bytes, a.seconds) < std::pair(b.bytes, b.seconds);
  });
  llvm::SmallVector<Freed, 32> hull{{0, 0}};
  for (const Freed &way : ways) {
    auto slopeFrom = [&](const Freed &from) {
      return (way.seconds - from.seconds) / (way.bytes - from.bytes);
    };
    if (way.bytes <= hull.back().bytes)
      continue;
    while (hull.size() > 1 && slopeFrom(hull[hull.size() - 2]) >= slopeFrom(hull.back()))
      hull.pop_back();
    hull.push_back(way);
  }
  llvm::SmallVector<FreeingBound, 8> bounds;
  for (size_t next = 1; next < hull.size(); ++next) {
    const Freed &from = hull[next - 1], &to = hull[next];
    double perByte = (to.seconds - from.seconds) / (to.bytes - from.bytes);
    bounds.push_back({from.seconds - perByte * from.bytes, perByte});
  }
  return bounds;
}

} // namespace

// Returns an upper bound of the layers of a stage that fits and takes at most so many seconds of a
// micro-batch. Solves a relaxation: every layer has the best figures of all, and any share of the
// layers may save less. With n layers of t seconds and b bytes, each has to free (n b - room) / n
// on average, in a + f x seconds for x bytes by every line of the hull. So the stage takes
//   n t + n a + f (n b - room)   seconds at least, and holds   n (b - most that a layer frees) <=
//   room.
static double mostLayersWithin(const StageInputs &in, size_t index, double seconds) {
  const StageKind &at = in.kindOf(index);
  const ModelCost &cost = at.model;
  double fragmentation = in.process.fragmentation,
         infinity = std::numeric_limits<double>::infinity();
  MicroBatchesAlive alive = aliveOf(in, index);
  PartSums sums;
  double embeddingAndHead = 0, kept = 0;
  if (index == 0) {
    sums.add(cost.embedding, false);
    embeddingAndHead += at.embedding.total();
    kept = cost.embedding.kept;
  }
  if (in.holdsHead(index)) {
    const BlockCost &head = at.d.lossChunks > 1 ? at.headInChunks : cost.head;
    sums.add(head, false);
    sums.headKept = head.kept;
    embeddingAndHead += at.head.total();
    if (index == 0)
      sums.takeTied(cost);
  }
  double own = infinity, bytes = infinity, freed = 0;
  llvm::SmallVector<Freed, 32> ways;
  double transient = infinity, largest = infinity, workspace = infinity;
  double ownWorkspace = infinity; // with the minimum recomputation
  const llvm::SmallVector<LayerWay, kNumLayerWays> more = waysToKeepLess(in);
  for (size_t block = 0; block < cost.blocks.size(); ++block) {
    const BlockCost &part = cost.blocks[block];
    const PartTimes &times = at.blocks[block];
    double least = keptBy(part, in.leastWay());
    own = std::min(own, in.leastOf(times));
    bytes = std::min(bytes, statesOf(in, part, at) +
                                fragmentation *
                                    (alive.inFlight * least + alive.stashed * (part.kept - least)));
    for (LayerWay way : more) {
      double less = fragmentation * (alive.inFlight - alive.stashed) * (least - keptBy(part, way));
      double again = times.againOf(way) - times.againOf(in.leastWay());
      freed = std::max(freed, less);
      ways.push_back({less, again});
      workspace = std::min(workspace, workspaceOf(part, way));
    }
    ownWorkspace = std::min(ownWorkspace, workspaceOf(part, in.leastWay()));
    transient = std::min(transient, part.transient);
    largest = std::min(largest, part.allDense() + part.allExpert());
  }
  if (in.leastLayersOf(index) > 0) {
    sums.transient = std::max(sums.transient, transient);
    sums.largestLayer = largest;
  }
  if (in.leastLayersOf(index) == 0)
    workspace = ownWorkspace = 0;
  double room = at.memoryLimit * (1 + kRounding) -
                memoryOf(in, sums, at, alive, {kept, 0, ownWorkspace}).total();
  double byTime = (seconds - embeddingAndHead) / own, plain = std::min(byTime, room / bytes);
  // The workspace of a recomputed layer has to fit, too.
  if (in.d.mayKeepLess())
    room -= fragmentation * std::max(0.0, workspace - ownWorkspace);
  if (!in.d.mayKeepLess() || freed <= 0 || room <= 0)
    return plain;
  double most = byTime;
  for (FreeingBound bound : boundsOf(std::move(ways)))
    if (double perLayer = own + bound.atZero + bound.perByte * bytes; perLayer > 0)
      most = std::min(most, (seconds - embeddingAndHead + room * bound.perByte) / perLayer);
  if (bytes > freed)
    most = std::min(most, room / (bytes - freed));
  return std::max(plain, most);
}

bool mayFitWithin(const StageInputs &in, double seconds) {
  StageBounds least(in);
  auto layers = static_cast<double>(in.model.cells->chain.size());
  // The whole model is one part; or every stage has a part of the vocabulary, too, which is not
  // counted here.
  if (layers == 0 || in.sharesVocabulary())
    return true;
  double loop = (seconds - least.update()) * (1 + kRounding), sum = 0;
  double m = static_cast<double>(in.d.numMicroBatches);
  // A stage starts after the way down to it and, but for gradients of weights, ends before the way
  // up.
  bool isSplit = splitsBackward(in.d.schedule);
  for (int64_t stage = 0; stage < in.d.pp; ++stage) {
    auto index = static_cast<size_t>(stage);
    double most = mostLayersWithin(in, index, (loop - least.before(stage, isSplit)) / m);
    double whole = std::floor(most * (1 + kRounding));
    if (whole < static_cast<double>(in.leastLayersOf(index)))
      return false;
    sum += whole;
  }
  return sum >= layers;
}

} // namespace dtc
