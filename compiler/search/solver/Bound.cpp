// Computes the lower bound by TRW-S with memory prices.
#include "compiler/search/solver/Bound.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dtc::solver {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Sets least[y] to min(least[y], from + row[y]).
inline void lowerBy(double *least, const double *row, double from, int32_t count) {
  for (int32_t y = 0; y < count; ++y) {
    double sum = from + row[y];
    least[y] = sum < least[y] ? sum : least[y];
  }
}

// Subtracts the least entry from all entries and returns it.
double takeLeast(double *values, int32_t count) {
  double least = *std::min_element(values, values + count);
  for (int32_t i = 0; i < count; ++i)
    values[i] -= least;
  return least;
}

} // namespace

// Prices that start at 0 need an average over many passes. Good prices must be improved in few
// passes.
Bound::Bound(const Network &network, std::vector<double> prices)
    : network(network), unary(network.unary), priced(network.unary), choice(network.numNodes(), 0),
      ascent(prices.empty() ? std::vector<double>(network.numTimes(), 0.0) : prices,
             prices.empty() ? 0.1 : 0.3) {
  int64_t size = 0;
  int32_t widest = 0;
  reverse.resize(network.neighbours.size());
  for (int32_t i = 0; i < network.numNodes(); ++i) {
    widest = std::max(widest, network.values(i));
    int32_t before = 0, after = 0;
    for (int32_t h = network.firstNeighbour[i]; h < network.firstNeighbour[i + 1]; ++h) {
      firstMessage.push_back(size);
      size += network.values(i);
      int32_t other = network.neighbours[h].node;
      ++(other < i ? before : after);
      auto theirs = network.neighboursOf(other);
      auto me = std::lower_bound(theirs.begin(), theirs.end(), i,
                                 [](const auto &n, int32_t node) { return n.node < node; });
      reverse[h] = static_cast<int32_t>(network.firstNeighbour[other] + (me - theirs.begin()));
    }
    weight.push_back(1.0 / std::max({before, after, 1}));
  }
  messages.assign(size, 0.0);
  bestMessages = messages;
  belief.resize(widest);
  source.resize(widest);
  outgoing.resize(widest);
}

void Bound::priceUnary(const std::vector<double> &price) {
  std::vector<double> sum(network.numTimes() + 1, 0.0);
  for (int32_t t = 0; t < network.numTimes(); ++t)
    sum[t + 1] = sum[t] + price[t];
  priced = unary;
  for (int32_t i = 0; i < network.numNodes(); ++i)
    for (const Network::Piece &piece : network.piecesOf(i)) {
      double perByte = sum[piece.end] - sum[piece.begin];
      if (perByte <= 0)
        continue;
      for (int32_t v = 0; v < network.values(i); ++v)
        priced[network.first[i] + v] +=
            perByte * static_cast<double>(network.usages[piece.offset + v]);
    }
  workDone += static_cast<int64_t>(network.usages.size());
}

void Bound::decode(int32_t node, bool forward, const double *beliefs) {
  int32_t values = network.values(node);
  double *costs = source.data();
  std::copy(beliefs, beliefs + values, costs);
  for (int32_t h = network.firstNeighbour[node]; h < network.firstNeighbour[node + 1]; ++h) {
    const Network::Neighbour &neighbour = network.neighbours[h];
    if ((neighbour.node < node) != forward)
      continue;
    const double *column =
        neighbour.columns + static_cast<int64_t>(choice[neighbour.node]) * values;
    const double *message = &messages[firstMessage[h]];
    for (int32_t v = 0; v < values; ++v)
      costs[v] += column[v] - message[v];
  }
  choice[node] = static_cast<int32_t>(std::min_element(costs, costs + values) - costs);
}

double Bound::pass(bool forward) {
  double bound = 0;
  int32_t count = network.numNodes();
  for (int32_t n = 0; n < count; ++n) {
    int32_t i = forward ? n : count - 1 - n;
    int32_t values = network.values(i);
    std::copy_n(&priced[network.first[i]], values, belief.begin());
    for (int32_t h = network.firstNeighbour[i]; h < network.firstNeighbour[i + 1]; ++h)
      for (int32_t v = 0; v < values; ++v)
        belief[v] += messages[firstMessage[h] + v];
    decode(i, forward, belief.data());
    bound += takeLeast(belief.data(), values);
    for (int32_t h = network.firstNeighbour[i]; h < network.firstNeighbour[i + 1]; ++h) {
      const Network::Neighbour &neighbour = network.neighbours[h];
      if ((neighbour.node > i) != forward)
        continue;
      int32_t width = network.values(neighbour.node);
      std::fill_n(outgoing.begin(), width, kInfinity);
      for (int32_t v = 0; v < values; ++v)
        lowerBy(outgoing.data(), neighbour.rows + static_cast<int64_t>(v) * width,
                weight[i] * belief[v] - messages[firstMessage[h] + v], width);
      bound += takeLeast(outgoing.data(), width);
      std::copy_n(outgoing.begin(), width, &messages[firstMessage[reverse[h]]]);
      workDone += static_cast<int64_t>(values) * width;
    }
  }
  return bound;
}

void Bound::overCapacity() {
  over.assign(network.numTimes() + 1, 0.0);
  for (int32_t i = 0; i < network.numNodes(); ++i)
    for (const Network::Piece &piece : network.piecesOf(i)) {
      auto usage = static_cast<double>(network.usages[piece.offset + choice[i]]);
      over[piece.begin] += usage;
      over[piece.end] -= usage;
    }
  over.pop_back();
  double sum = 0;
  for (int32_t t = 0; t < network.numTimes(); ++t) {
    sum += over[t];
    over[t] = sum - static_cast<double>(network.capacity[t]);
  }
}

double Bound::paid(const std::vector<double> &price) const {
  double sum = 0;
  for (int32_t t = 0; t < network.numTimes(); ++t)
    sum += price[t] * static_cast<double>(network.capacity[t]);
  return sum;
}

// When it is a node's turn, its belief is the sum over all chains through it of their least costs,
// by its value. The bounds of the pass so far and to come are the costs of all chains together.
std::vector<double> Bound::valueBounds() {
  messages = bestMessages;
  priceUnary(prices());
  double value = pass(true) - paid(prices()) + network.constant;
  pass(false);
  std::vector<double> bounds = priced;
  for (int32_t i = 0; i < network.numNodes(); ++i) {
    double *of = &bounds[network.first[i]];
    for (int32_t h = network.firstNeighbour[i]; h < network.firstNeighbour[i + 1]; ++h)
      for (int32_t v = 0; v < network.values(i); ++v)
        of[v] += messages[firstMessage[h] + v];
    takeLeast(of, network.values(i));
    for (int32_t v = 0; v < network.values(i); ++v)
      of[v] += value;
  }
  return bounds;
}

double Bound::probe(int32_t node, std::span<const char> allowed, int iterations, double enough) {
  constexpr int kFirstLook = 8;
  constexpr double kHardly = 0.1, kProbeStep = 0.3;
  std::vector<double> messagesBefore = messages, bestBefore = bestMessages;
  PriceAscent ascentBefore = ascent;
  std::vector<double> own(unary.begin() + network.first[node],
                          unary.begin() + network.first[node + 1]);
  for (int32_t v = 0; v < network.values(node); ++v)
    if (!allowed[v])
      forbid(node, v);
  messages = bestMessages;
  double before = best();
  ascent.restart(kProbeStep);
  for (int i = 0; i < iterations && best() < enough; ++i) {
    if (i == kFirstLook && best() < before + kHardly * (enough - before))
      break;
    iterate(enough);
  }
  double found = std::max(best(), before);
  std::copy(own.begin(), own.end(), unary.begin() + network.first[node]);
  messages = std::move(messagesBefore);
  bestMessages = std::move(bestBefore);
  ascent = std::move(ascentBefore);
  return found;
}

void Bound::iterate(double target) {
  workDone += 64 + network.numNodes();
  const std::vector<double> &price = ascent.prices();
  priceUnary(price);
  pass(true);
  if (ascent.see(pass(false) - paid(price) + network.constant))
    bestMessages = messages;
  if (network.numTimes() == 0)
    return;
  overCapacity();
  if (ascent.move(over, target))
    messages = bestMessages;
}

} // namespace dtc::solver
