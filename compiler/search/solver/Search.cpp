// Makes the moves of the local search.
#include "compiler/search/solver/Search.h"

#include <algorithm>
#include <cmath>

namespace dtc::solver {
namespace {

// Costs are whole numbers, so a smaller improvement is rounding.
constexpr double kLeastImprovement = 0.5;
constexpr int kPriceSteps = 12, kOverloadSteps = 24;

} // namespace

Search::Search(const Network &network, uint64_t seed)
    : network(network), random(seed), ledger(network), forest(network),
      choice(network.numNodes(), 0) {
  start(choice);
}

double Search::costOf(const std::vector<int32_t> &assignment) const {
  double total = network.constant;
  for (int32_t i = 0; i < network.numNodes(); ++i) {
    total += network.unary[network.first[i] + assignment[i]];
    for (const Network::Neighbour &neighbour : network.neighboursOf(i))
      if (neighbour.node > i)
        total +=
            neighbour.rows[static_cast<int64_t>(assignment[i]) * network.values(neighbour.node) +
                           assignment[neighbour.node]];
  }
  return total;
}

void Search::start(std::vector<int32_t> assignment) {
  choice = std::move(assignment);
  ledger.assign(choice);
  currentCost = costOf(choice);
  fits = ledger.fits();
  currentOverload = fits ? 0 : ledger.overload();
}

int64_t Search::work() const { return forest.work() + extraWork; }

void Search::relax(const std::vector<double> &prices, int64_t amount,
                   const std::function<bool()> &stop) {
  std::vector<double> sum(network.numTimes() + 1, 0.0), priced = network.unary;
  for (int32_t t = 0; t < network.numTimes(); ++t)
    sum[t + 1] = sum[t] + prices[t];
  for (int32_t i = 0; i < network.numNodes(); ++i)
    for (const Network::Piece &piece : network.piecesOf(i))
      for (int32_t v = 0; v < network.values(i); ++v)
        priced[network.first[i] + v] += (sum[piece.end] - sum[piece.begin]) *
                                        static_cast<double>(network.usages[piece.offset + v]);
  for (int64_t end = work() + amount; work() < end && network.numNodes() > 0 && !stop();) {
    forest.clear();
    grow(below(network.numNodes()), network.numNodes());
    forest.prepare(priced, choice);
    forest.solve();
    for (size_t m = 0; m < forest.nodes().size(); ++m)
      choice[forest.nodes()[m]] = forest.value(m);
    extraWork += 1000;
  }
  start(choice);
}

void Search::grow(int32_t seed, int32_t size) {
  frontier.assign(1, seed);
  int32_t added = 0;
  bool wide = below(2) == 0; // breadth first, or in any order
  for (size_t next = 0; next < frontier.size() && added < size; ++next) {
    if (!wide)
      std::swap(frontier[next],
                frontier[next + below(static_cast<int32_t>(frontier.size() - next))]);
    int32_t node = frontier[next];
    if (forest.contains(node) || !forest.tryAdd(node))
      continue;
    ++added;
    for (const Network::Neighbour &neighbour : network.neighboursOf(node))
      if (!forest.contains(neighbour.node))
        frontier.push_back(neighbour.node);
  }
  extraWork += static_cast<int64_t>(frontier.size());
}

void Search::growAtTime(int32_t time, int32_t balls, int32_t size) {
  std::vector<int32_t> live;
  for (int32_t i = 0; i < network.numNodes(); ++i) {
    auto pieces = network.piecesOf(i);
    auto after = std::upper_bound(pieces.begin(), pieces.end(), time,
                                  [](int32_t t, const auto &piece) { return t < piece.begin; });
    if (after != pieces.begin() && (after - 1)->end > time)
      live.push_back(i);
  }
  extraWork += 4 * static_cast<int64_t>(network.numNodes());
  for (int32_t ball = 0; ball < balls && !live.empty(); ++ball)
    grow(live[below(static_cast<int32_t>(live.size()))], size);
}

int32_t Search::forbiddenNode() {
  std::vector<int32_t> found;
  for (int32_t i = 0; i < network.numNodes(); ++i)
    for (const Network::Neighbour &neighbour : network.neighboursOf(i))
      if (neighbour.rows[static_cast<int64_t>(choice[i]) * network.values(neighbour.node) +
                         choice[neighbour.node]] >= network.forbidden)
        found.push_back(i);
  extraWork += static_cast<int64_t>(network.neighbours.size());
  return found.empty() ? below(network.numNodes())
                       : found[below(static_cast<int32_t>(found.size()))];
}

void Search::pickNodes() {
  forest.clear();
  int32_t size = 4 << below(7), kind = below(100);
  if (!fits) {
    growAtTime(ledger.tightest(), 1 + below(16), std::max(2, size / 4));
  } else if (currentCost >= network.forbidden && kind < 80) {
    grow(forbiddenNode(), size);
  } else if (kind < 60 || network.numTimes() == 0) {
    grow(below(network.numNodes()), size);
  } else {
    int32_t time = kind < 80 ? ledger.tightest() : below(network.numTimes());
    growAtTime(time, 2 + below(8), std::max(1, size / 8));
  }
}

// Gives the freed nodes their values in the forest's minimum, in the ledger only.
void Search::swapIn() {
  for (size_t m = 0; m < forest.nodes().size(); ++m) {
    int32_t node = forest.nodes()[m];
    previous[m] = choice[node];
    if (forest.value(m) == choice[node])
      continue;
    ledger.change(node, choice[node], forest.value(m));
    extraWork += 8 * static_cast<int64_t>(network.piecesOf(node).size());
    choice[node] = forest.value(m);
  }
}

void Search::swapBack() {
  for (size_t m = 0; m < forest.nodes().size(); ++m) {
    int32_t node = forest.nodes()[m];
    if (previous[m] != choice[node]) {
      ledger.change(node, choice[node], previous[m]);
      choice[node] = previous[m];
    }
  }
}

void Search::addTightTime(int32_t time) {
  for (const TightTime &known : tight)
    if (known.time == time)
      return;
  TightTime added{time, 0, static_cast<double>(ledger.leftAt(time)), 0, {}};
  for (int32_t node : forest.nodes()) {
    auto pieces = network.piecesOf(node);
    auto after = std::upper_bound(pieces.begin(), pieces.end(), time,
                                  [](int32_t t, const auto &piece) { return t < piece.begin; });
    bool live = after != pieces.begin() && (after - 1)->end > time;
    added.usages.push_back(live ? &network.usages[(after - 1)->offset] : nullptr);
    if (live)
      added.room += static_cast<double>(added.usages.back()[choice[node]]);
  }
  extraWork += 4 * static_cast<int64_t>(forest.nodes().size());
  tight.push_back(std::move(added));
}

void Search::measureTightTimes() {
  for (TightTime &at : tight) {
    at.over = -at.room;
    for (size_t m = 0; m < at.usages.size(); ++m)
      if (at.usages[m])
        at.over += static_cast<double>(at.usages[m][forest.value(m)]);
  }
}

// Returns the Lagrangian value: no assignment of the freed nodes that fits costs less.
double Search::solvePriced() {
  forest.forgetPrices();
  double paid = 0;
  for (const TightTime &at : tight) {
    if (at.price <= 0)
      continue;
    paid += at.price * at.room;
    for (size_t m = 0; m < at.usages.size(); ++m)
      if (at.usages[m])
        forest.addPrice(m, at.usages[m], at.price);
  }
  return forest.solve() - paid;
}

void Search::accept(double change) {
  currentCost += change;
  fits = ledger.fits();
  currentOverload = fits ? 0 : ledger.overload();
}

bool Search::optimise() {
  double now = forest.costOf(choice);
  for (int step = 0; step < kPriceSteps; ++step) {
    double bound = solvePriced();
    if (bound > now - kLeastImprovement)
      return false;
    swapIn();
    double found = forest.costOf(choice);
    bool fitsNow = ledger.fits();
    if (fitsNow && found < now - kLeastImprovement) {
      accept(found - now);
      return true;
    }
    int32_t worst = ledger.tightest();
    swapBack();
    if (!fitsNow)
      addTightTime(worst);
    measureTightTimes();
    double norm = 0;
    for (const TightTime &at : tight)
      norm += at.price > 0 || at.over > 0 ? at.over * at.over : 0;
    if (norm <= 0)
      return false;
    for (TightTime &at : tight)
      at.price = std::max(0.0, at.price + (now - bound) / norm * at.over);
  }
  return false;
}

// Doubles prices where the minimum still exceeds the limit, until the freed nodes reduce the
// overload.
bool Search::reduceOverload() {
  double now = forest.costOf(choice);
  addTightTime(ledger.tightest());
  solvePriced();
  for (int step = 0; step < kOverloadSteps; ++step) {
    measureTightTimes();
    for (TightTime &at : tight)
      if (at.over > 0)
        at.price = at.price > 0 ? 2 * at.price : 1e-4 * (std::abs(now) + 1) / at.over;
    solvePriced();
    swapIn();
    double found = forest.costOf(choice), overload = ledger.overload();
    if (overload < currentOverload && (found < network.forbidden || found <= now)) {
      accept(found - now);
      return true;
    }
    int32_t worst = ledger.tightest();
    swapBack();
    addTightTime(worst);
  }
  return false;
}

void Search::improve(int64_t amount, const std::function<bool()> &stop) {
  if (network.numNodes() == 0)
    return;
  for (int64_t end = work() + amount; work() < end && !stop();) {
    pickNodes();
    if (forest.nodes().empty())
      continue;
    tight.clear();
    previous.resize(forest.nodes().size());
    forest.prepare(network.unary, choice);
    extraWork += 50;
    if (fits)
      optimise();
    else
      reduceOverload();
  }
}

} // namespace dtc::solver
