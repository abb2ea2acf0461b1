// Bounds, searches and probes one part of the assignments.
#include "compiler/search/solver/Part.h"

#include "compiler/search/solver/Bound.h"
#include "compiler/search/solver/Presolve.h"
#include "compiler/search/solver/Reduction.h"
#include "compiler/search/solver/Search.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <memory>

namespace dtc::solver {
namespace {

constexpr int kMostIterations = 400, kIterationBlock = 25;
// Share of the distance to the target that a block of iterations must close, or it is the last one.
constexpr double kWorthIterating = 0.02;
constexpr int kProbeIterations = 40, kMostFailedProbes = 3;
// A node is probed if its promise is at least kPromising, or if not too many probes have failed.
constexpr double kPromising = 0.05, kPromiseDecay = 0.3;
constexpr int kMostInVain = 24;
// When this share of the undecided bits is decided, presolve and probing start again.
constexpr double kStartAnew = 0.05;
constexpr size_t kMostCandidates = 8;
constexpr int64_t kRelaxWork = 200, kSearchWork = 1000; // per value of all nodes

class Explorer {
public:
  Explorer(const Network &whole, const Part &part, double target, const std::function<bool()> &stop)
      : whole(whole), part(part), target(target), stop(stop) {}

  PartResult run() {
    while (!stop()) {
      reduction = presolve(whole, part.allowed);
      if (reduction.infeasible || !boundAndSearch())
        break;
      double before = bits();
      if (!probeAll())
        break;
      if (bits() > (1 - kStartAnew) * before) {
        halve();
        break;
      }
    }
    // The time has run out: only the bound of the rest is known.
    if (stop() && result.halves.empty() && !closed)
      result.halves.push_back(part);
    return std::move(result);
  }

private:
  // One side of a node's values, and the bound with only these values.
  struct Candidate {
    int32_t node;
    double bound;
    std::vector<char> side;
  };

  bool boundAndSearch();
  bool probeAll();
  bool probeNode(int32_t node);
  void halve();
  Candidate bestCandidate(Candidate &other);
  Candidate widest() const;

  int32_t values(int32_t node) const { return reduction.network.values(node); }
  char &allowed(int32_t node, int32_t value) {
    return part.allowed[whole.first[reduction.kept[node]] + reduction.origin[node][value]];
  }
  char allowed(int32_t node, int32_t value) const {
    return part.allowed[whole.first[reduction.kept[node]] + reduction.origin[node][value]];
  }
  void drop(int32_t node, int32_t value) {
    allowed(node, value) = 0;
    bound->forbid(node, value);
  }
  // Returns the number of undecided bits.
  double bits() const {
    double sum = 0;
    for (int32_t i = 0; i < reduction.network.numNodes(); ++i) {
      int left = 0;
      for (int32_t v = 0; v < values(i); ++v)
        left += allowed(i, v);
      sum += std::log2(std::max(left, 1));
    }
    return sum;
  }
  bool close() {
    closed = true;
    return false;
  }

  const Network &whole;
  Part part;
  double target;
  const std::function<bool()> &stop;
  PartResult result;
  Reduction reduction;
  std::unique_ptr<Bound> bound;
  std::vector<double> valueBounds;
  std::vector<Candidate> candidates;
  bool closed = false;
};

// Returns false if nothing in the part can be better than the target.
bool Explorer::boundAndSearch() {
  const Network &network = reduction.network;
  std::vector<double> prices;
  for (int32_t t : reduction.times)
    prices.push_back(part.prices[t]);
  bound = std::make_unique<Bound>(network, std::move(prices));
  double before = -std::numeric_limits<double>::infinity();
  for (int i = 1; i <= kMostIterations && !stop(); ++i) {
    bound->iterate(target);
    if (reaches(bound->best(), target))
      return close();
    if (i % kIterationBlock != 0)
      continue;
    if (bound->best() < before + kWorthIterating * (target - bound->best()))
      break;
    before = bound->best();
  }
  part.bound = std::max(part.bound, bound->best());
  for (size_t t = 0; t < reduction.times.size(); ++t)
    part.prices[reduction.times[t]] = bound->prices()[t];
  Search search(network, part.seed);
  search.start(bound->decoded());
  auto size = static_cast<int64_t>(network.unary.size());
  search.relax(bound->prices(), kRelaxWork * size, stop);
  search.improve(kSearchWork * size, stop);
  if (search.feasible() && (!result.found || search.cost() < result.cost)) {
    result.found = true;
    result.assignment = reduction.lift(search.assignment());
    result.cost = search.cost();
    target = std::min(target, result.cost);
  }
  // Without nodes, the result is complete.
  return network.numNodes() > 0 && !reaches(part.bound, target) ? true : close();
}

// Returns false if a node has no value left.
bool Explorer::probeAll() {
  const Network &network = reduction.network;
  valueBounds = bound->valueBounds();
  candidates.clear();
  std::vector<int32_t> order(network.numNodes());
  for (int32_t i = 0; i < network.numNodes(); ++i)
    order[i] = i;
  auto promise = [&](int32_t i) -> double & { return part.promise[reduction.kept[i]]; };
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return promise(a) != promise(b) ? promise(a) > promise(b) : a < b;
  });
  for (int32_t i = 0; i < network.numNodes(); ++i) {
    auto all = part.allowed.begin() + whole.first[reduction.kept[i]];
    // values that presolve removed are removed permanently
    std::fill(all, all + whole.values(reduction.kept[i]), 0);
    for (int32_t v = 0; v < values(i); ++v)
      if (reaches(valueBounds[network.first[i] + v], target))
        drop(i, v);
      else
        allowed(i, v) = 1;
  }
  int inVain = 0;
  double all = bits(), gone = 0;
  for (int32_t i : order) {
    if (stop() || (promise(i) < kPromising && inVain >= kMostInVain) || gone > kStartAnew * all)
      return true;
    auto count = [&] {
      int left = 0;
      for (int32_t v = 0; v < values(i); ++v)
        left += allowed(i, v);
      return left;
    };
    int before = count();
    if (!probeNode(i))
      return close();
    int after = count();
    inVain = after < before ? 0 : inVain + 1;
    double paid = std::log2(static_cast<double>(before) / after);
    promise(i) = kPromiseDecay * promise(i) + paid;
    gone += paid;
  }
  return true;
}

// Removes sets of values with the highest bounds together. A set that cannot be removed is halved.
bool Explorer::probeNode(int32_t node) {
  const double *bounds = &valueBounds[reduction.network.first[node]];
  auto byBound = [&](int32_t a, int32_t b) {
    return bounds[a] != bounds[b] ? bounds[a] < bounds[b] : a < b;
  };
  std::vector<int32_t> left;
  for (int32_t v = 0; v < values(node); ++v)
    if (allowed(node, v))
      left.push_back(v);
  std::sort(left.begin(), left.end(), byBound);
  Candidate best{node, part.bound, {}};
  int failed = 0;
  for (size_t count = left.size() / 2; count > 0 && failed < kMostFailedProbes;) {
    std::vector<char> side(values(node), 0);
    for (size_t k = left.size() - count; k < left.size(); ++k)
      side[left[k]] = 1;
    double found = bound->probe(node, side, kProbeIterations, target);
    if (reaches(found, target)) {
      for (size_t k = left.size() - count; k < left.size(); ++k)
        drop(node, left[k]);
      left.resize(left.size() - count);
      count = left.size() / 2;
      continue;
    }
    if (found > best.bound)
      best = {node, found, side};
    ++failed;
    count /= 2;
  }
  if (!best.side.empty())
    candidates.push_back(std::move(best));
  return !left.empty();
}

// Among the nodes for which one side's bound rises most, returns the one for which both rise.
Explorer::Candidate Explorer::bestCandidate(Candidate &other) {
  std::sort(candidates.begin(), candidates.end(), [](const Candidate &a, const Candidate &b) {
    return a.bound != b.bound ? a.bound > b.bound : a.node < b.node;
  });
  candidates.resize(std::min(candidates.size(), kMostCandidates));
  Candidate best{-1, 0, {}};
  double bestScore = -1, least = part.bound, unit = 0.01 * (target - least);
  for (Candidate &candidate : candidates) {
    Candidate rest{candidate.node, least, std::vector<char>(candidate.side.size(), 0)};
    bool any = false, some = false;
    for (size_t v = 0; v < candidate.side.size(); ++v) {
      bool is = allowed(candidate.node, static_cast<int32_t>(v)) != 0;
      rest.side[v] = is && !candidate.side[v];
      any = any || rest.side[v];
      some = some || (is && candidate.side[v]);
    }
    if (!any || !some || stop())
      continue;
    rest.bound = std::max(least, bound->probe(rest.node, rest.side, kProbeIterations, target));
    double score = (candidate.bound - least + unit) * (rest.bound - least + unit);
    if (score > bestScore) {
      bestScore = score;
      best = candidate;
      other = std::move(rest);
    }
  }
  return best;
}

// Returns the node with most values, halved by their bounds.
Explorer::Candidate Explorer::widest() const {
  Candidate best{-1, part.bound, {}};
  size_t most = 1;
  for (int32_t i = 0; i < reduction.network.numNodes(); ++i) {
    std::vector<int32_t> left;
    for (int32_t v = 0; v < values(i); ++v)
      if (allowed(i, v))
        left.push_back(v);
    if (left.size() <= most)
      continue;
    most = left.size();
    const double *bounds = &valueBounds[reduction.network.first[i]];
    auto byBound = [&](int32_t a, int32_t b) {
      return bounds[a] != bounds[b] ? bounds[a] < bounds[b] : a < b;
    };
    std::sort(left.begin(), left.end(), byBound);
    best.node = i;
    best.side.assign(values(i), 0);
    for (size_t k = most / 2; k < most; ++k)
      best.side[left[k]] = 1;
  }
  return best;
}

void Explorer::halve() {
  Candidate other, side = bestCandidate(other);
  if (side.node < 0) {
    side = other = widest();
    if (side.node >= 0)
      for (int32_t v = 0; v < values(side.node); ++v)
        other.side[v] = allowed(side.node, v) && !side.side[v];
  }
  assert(side.node >= 0 && "run() halves only where a node has several values left");
  for (const Candidate &taken : {side, other}) {
    if (reaches(taken.bound, target))
      continue;
    Part half = part;
    half.bound = std::max(part.bound, taken.bound);
    half.seed = part.seed * 6364136223846793005ULL + (&taken == &side ? 1 : 2);
    for (int32_t v = 0; v < values(side.node); ++v)
      if (!taken.side[v])
        half.allowed[whole.first[reduction.kept[side.node]] + reduction.origin[side.node][v]] = 0;
    result.halves.push_back(std::move(half));
  }
}

} // namespace

PartResult explore(const Network &network, const Part &part, double target,
                   const std::function<bool()> &stop) {
  return Explorer(network, part, target, stop).run();
}

} // namespace dtc::solver
