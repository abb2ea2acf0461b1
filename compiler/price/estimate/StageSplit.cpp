// Cuts a chain of layers into stages.
#include "compiler/price/estimate/StageSplit.h"

#include "llvm/ADT/ArrayRef.h"

#include <algorithm>
#include <limits>

namespace dtc {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();
constexpr double kTie = 1e-9; // sums in another order differ by less

struct Cut {
  LayerChunks runs;
  double slowest = kNone; // seconds of its slowest run
};

// Returns the best cut of all layers into `chunks` runs. The last run, and the first if there are
// more runs than layers, may be empty and then take `lastAlone` and `firstAlone` seconds.
// `cutAll(first, count, limit)` cuts into `count` runs with layers, from run `first` on, and may
// return none if they take `limit` seconds or more. Ties go to the cut with fewer empty runs. Empty
// if all cuts take `limit` seconds or more.
LayerChunks cutWithFreeFirstAndLast(int64_t layers, int64_t chunks, double firstAlone,
                                    double lastAlone, double limit,
                                    llvm::function_ref<Cut(int64_t, int64_t, double)> cutAll) {
  Cut best{{}, limit};
  for (auto [noFirst, noLast] : {std::pair(0, 0), {0, 1}, {1, 0}, {1, 1}}) {
    int64_t count = chunks - noFirst - noLast;
    double alone = std::max(noFirst ? firstAlone : 0, noLast ? lastAlone : 0);
    if (count < 1 || count > layers || (noFirst && !mayBeginEmpty(layers, chunks)) ||
        !(alone < best.slowest * (1 - kTie)))
      continue;
    Cut cut = cutAll(noFirst, count, best.slowest);
    cut.slowest = std::max(cut.slowest, alone);
    if (cut.runs.empty() || !(cut.slowest < best.slowest * (1 - kTie)))
      continue;
    if (noFirst)
      cut.runs.insert(cut.runs.begin(), {0, -1});
    if (noLast)
      cut.runs.push_back({layers, layers - 1});
    best = std::move(cut);
  }
  return best.runs;
}

// Cuts a chain into runs that all have layers: see cutChain.
class ChainCutter {
public:
  ChainCutter(const std::vector<double> &seconds, int64_t chunks, double before, double after)
      : layers(static_cast<int64_t>(seconds.size())), chunks(chunks), before(before), after(after),
        sums(seconds.size() + 1, 0) {
    for (size_t i = 0; i < seconds.size(); ++i)
      sums[i + 1] = sums[i] + seconds[i];
  }

  Cut run() {
    double low = 0, high = sums.back() + before + after;
    for (int64_t i = 0; i < layers; ++i)
      low = std::max(low, sums[i + 1] - sums[i]);
    low = std::max({low, (sums.back() + before + after) / static_cast<double>(chunks),
                    before + sums[1], after + sums[layers] - sums[layers - 1]});
    LayerChunks best(static_cast<size_t>(chunks)), cut(best);
    fill(high, best);
    // The slowest run of a cut that was found gives a better `high` than the limit.
    for (int step = 0; step < 60 && high - low > high * 1e-12; ++step) {
      double middle = step == 0 ? low : (low + high) / 2;
      if (!fill(middle, cut)) {
        low = middle;
        if (step == 0)
          continue;
      } else {
        best.swap(cut);
        high = std::min(middle, slowest(best));
        if (step == 0)
          break;
      }
    }
    high = slowest(best);
    LayerChunks even = level(high);
    return {even.empty() ? best : even, high};
  }

private:
  double sumOf(int64_t first, int64_t last, int64_t chunk) const {
    return sums[last + 1] - sums[first] + (chunk == 0 ? before : 0) +
           (chunk == chunks - 1 ? after : 0);
  }

  double slowest(const LayerChunks &cut) const {
    double most = 0;
    for (int64_t chunk = 0; chunk < chunks; ++chunk)
      most = std::max(most, sumOf(cut[chunk].first, cut[chunk].second, chunk));
    return most;
  }

  // Fills runs from the last to the first, each as full as `limit` allows; the first gets the rest.
  // Returns false if that is too much.
  bool fill(double limit, LayerChunks &cut) const {
    int64_t end = layers - 1;
    double slack = limit * 1e-12;
    for (int64_t chunk = chunks - 1; chunk > 0; --chunk) {
      int64_t first = end;
      if (end < chunk || sumOf(first, end, chunk) > limit + slack)
        return false;
      while (first > chunk && sumOf(first - 1, end, chunk) <= limit + slack)
        --first;
      cut[chunk] = {first, end};
      end = first - 1;
    }
    if (sumOf(0, end, 0) > limit + slack)
      return false;
    cut[0] = {0, end};
    return true;
  }

  // Returns runs as equal as can be under `limit`, which keeps memory level: each takes layers
  // until it has its share of the rest. Empty if a run gets too much.
  LayerChunks level(double limit) const {
    LayerChunks cut(static_cast<size_t>(chunks));
    int64_t first = 0;
    double left = sums[layers] + before + after;
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      int64_t following = chunks - 1 - chunk, last = following == 0 ? layers - 1 : first;
      double share = left / static_cast<double>(following + 1);
      while (following > 0 && last + 1 < layers - following &&
             sumOf(first, last + 1, chunk) <= limit * (1 + 1e-12) &&
             sumOf(first, last, chunk) + (sums[last + 2] - sums[last + 1]) / 2 <= share)
        ++last;
      if (sumOf(first, last, chunk) > limit * (1 + 1e-12))
        return {};
      left -= sumOf(first, last, chunk);
      cut[static_cast<size_t>(chunk)] = {first, last};
      first = last + 1;
    }
    return cut;
  }

  int64_t layers, chunks;
  double before, after;
  std::vector<double> sums;
};

// Cuts into as many runs as there are chunks, each with layers.
Cut cutOverEach(llvm::ArrayRef<ChunkDevices> chunks) {
  size_t layers = chunks.front().seconds.size();
  // Indexed by last chunk and last layer: the seconds of the slowest chunk of the best cut so far,
  // and the first layer of its last chunk.
  std::vector<std::vector<double>> best(chunks.size(), std::vector<double>(layers, kNone));
  std::vector<std::vector<size_t>> firstOf(chunks.size(), std::vector<size_t>(layers, 0));
  for (size_t chunk = 0; chunk < chunks.size(); ++chunk) {
    const ChunkDevices &at = chunks[chunk];
    for (size_t last = chunk; last < layers; ++last) {
      double own = at.extra;
      for (size_t first = last + 1; first-- > chunk;) {
        own += at.seconds[first];
        bool tooMany = static_cast<int64_t>(last - first) >= at.mostLayers;
        if (tooMany || own > best[chunk][last])
          break;
        double before = chunk == 0 ? (first == 0 ? 0 : kNone) : best[chunk - 1][first - 1];
        if (std::max(before, own) <= best[chunk][last] && before < kNone) {
          best[chunk][last] = std::max(before, own);
          firstOf[chunk][last] = first;
        }
        if (first == 0)
          break;
      }
    }
  }
  if (best.back().back() == kNone)
    return {};
  LayerChunks cut(chunks.size());
  size_t last = layers - 1;
  for (size_t chunk = chunks.size(); chunk-- > 0;) {
    size_t first = firstOf[chunk][last];
    cut[chunk] = {static_cast<int64_t>(first), static_cast<int64_t>(last)};
    last = first - 1;
  }
  return {cut, best.back().back()};
}

// Fills runs from the last to the first, each as full as `limit` allows. Empty if that is not
// possible; `slowest` becomes the seconds of the slowest run.
LayerChunks fillRuns(int64_t layers, int64_t chunks, RunSeconds seconds, double limit,
                     double &slowest) {
  LayerChunks cut(static_cast<size_t>(chunks));
  int64_t end = layers - 1;
  slowest = 0;
  for (int64_t chunk = chunks - 1; chunk >= 0; --chunk) {
    int64_t first = chunk == 0 ? 0 : end;
    double own = end < chunk ? limit : seconds(chunk, first, end);
    if (!(own < limit))
      return {};
    while (first > chunk) {
      double more = seconds(chunk, first - 1, end);
      if (!(more < limit))
        break;
      own = more;
      --first;
    }
    cut[static_cast<size_t>(chunk)] = {first, end};
    slowest = std::max(slowest, own);
    end = first - 1;
  }
  return cut;
}

// Cuts into runs that all have layers.
Cut cutIntoRuns(int64_t layers, int64_t chunks, RunSeconds seconds, double limit) {
  double low = 0, high = 0, slowest = 0;
  LayerChunks best = fillRuns(layers, chunks, seconds, limit * (1 - kTie), high);
  if (best.empty())
    return {};
  while (high - low > high * 1e-3) {
    double middle = (low + high) / 2;
    LayerChunks cut = fillRuns(layers, chunks, seconds, middle, slowest);
    if (cut.empty()) {
      low = middle;
    } else {
      best = std::move(cut);
      high = slowest;
    }
  }
  // Few cuts are left in between: tries them one after another.
  for (;;) {
    LayerChunks cut = fillRuns(layers, chunks, seconds, high * (1 - kTie), slowest);
    if (cut.empty())
      return {best, high};
    best = std::move(cut);
    high = slowest;
  }
}

} // namespace

LayerChunks cutOverHeterogeneous(const std::vector<ChunkDevices> &chunks) {
  auto cutAll = [&](int64_t first, int64_t count, double) {
    return cutOverEach(
        llvm::ArrayRef(chunks).slice(static_cast<size_t>(first), static_cast<size_t>(count)));
  };
  return cutWithFreeFirstAndLast(static_cast<int64_t>(chunks.front().seconds.size()),
                                 static_cast<int64_t>(chunks.size()), chunks.front().extra,
                                 chunks.back().extra, kNone, cutAll);
}

LayerChunks cutByRuns(int64_t layers, int64_t chunks, RunSeconds seconds, double limit) {
  auto cutAll = [&](int64_t first, int64_t count, double less) {
    return cutIntoRuns(
        layers, count,
        [&](int64_t run, int64_t begin, int64_t end) { return seconds(first + run, begin, end); },
        less);
  };
  return cutWithFreeFirstAndLast(layers, chunks, seconds(0, 0, -1),
                                 seconds(chunks - 1, layers, layers - 1), limit, cutAll);
}

std::vector<int64_t> shareOut(int64_t layers, std::vector<int64_t> least, StageSeconds seconds,
                              double limit) {
  std::vector<int64_t> shares = std::move(least);
  std::vector<double> next; // seconds of each stage with one more layer
  double slowest = 0;
  for (size_t stage = 0; stage < shares.size(); ++stage) {
    auto number = static_cast<int64_t>(stage);
    layers -= shares[stage];
    slowest = std::max(slowest, seconds(number, shares[stage]));
    next.push_back(seconds(number, shares[stage] + 1));
  }
  for (; layers > 0; --layers) {
    auto fastest = std::min_element(next.rbegin(), next.rend());
    auto stage = static_cast<size_t>(next.rend() - fastest) - 1;
    slowest = std::max(slowest, *fastest);
    ++shares[stage];
    *fastest = seconds(static_cast<int64_t>(stage), shares[stage] + 1);
  }
  bool isLess = layers == 0 && slowest < limit * (1 - 1e-9);
  return isLess ? shares : std::vector<int64_t>();
}

LayerChunks cutEvenly(int64_t layers, int64_t chunks) {
  bool countsEmbeddingAndHead = layers % chunks != 0 && (layers + 2) % chunks == 0;
  int64_t all = layers + (countsEmbeddingAndHead ? 2 : 0), least = all / chunks,
          more = all % chunks, next = 0;
  LayerChunks cut;
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    int64_t size = least + (chunk < more ? 1 : 0);
    if (countsEmbeddingAndHead)
      size -= (chunk == 0) + (chunk == chunks - 1);
    cut.emplace_back(next, next + size - 1);
    next += size;
  }
  return cut;
}

LayerChunks cutChain(const std::vector<double> &seconds, int64_t chunks, double before,
                     double after) {
  auto cutAll = [&](int64_t first, int64_t count, double) {
    return ChainCutter(seconds, count, first == 0 ? before : 0, first + count == chunks ? after : 0)
        .run();
  };
  return cutWithFreeFirstAndLast(static_cast<int64_t>(seconds.size()), chunks, before, after, kNone,
                                 cutAll);
}

} // namespace dtc
