// Lower bound: memory limits priced into the costs, the rest bounded by sequential tree-reweighted
// message passing.
#pragma once

#include "compiler/solver/Network.h"
#include "compiler/solver/PriceAscent.h"

namespace dtc::solver {

// For prices p_t >= 0 per byte, every assignment within the limits costs at least
//   min over assignments of (cost + sum_t p_t usage_t) - sum_t p_t capacity_t.
// The minimum is bounded by messages along the edges (Kolmogorov, "Convergent tree-reweighted
// message passing for energy minimization", PAMI 2006): passes over the nodes in order, forward and
// back, each of which ends with a valid bound whatever the messages were before. Between passes the
// prices move (see PriceAscent.h) by a subgradient: usage over capacity of the assignment decoded
// in the last pass. Where prices go back to the best ones, so do messages: after prices that were
// far off, they take hundreds of passes to recover. Deterministic; a pass is the unit of work.
class Bound {
public:
  // Prices start at those given (one per point of time), or at 0.
  explicit Bound(const Network &network, std::vector<double> prices = {});

  // One pass forward and one back, then a step of the prices towards target, the cost of the best
  // assignment known (infinity: none yet).
  void iterate(double target);

  // The best bound of all passes on the cost of the network with its constant.
  double best() const { return ascent.bestValue(); }
  // Assignment decoded in the last pass: each node's best value given those decided before it and
  // the messages of the others. May be forbidden or over the limit.
  const std::vector<int32_t> &decoded() const { return choice; }
  // Prices of the best bound.
  const std::vector<double> &prices() const { return ascent.bestPrices(); }
  // For every value (as in Network::unary): what an assignment that takes it costs at least. One
  // pass forward and one back at the best prices.
  std::vector<double> valueBounds();
  // What the assignments that take one of some values of a node cost at least: up to so many
  // iterations from where the bound stands, which then is as before; fewer where the bound reaches
  // enough or hardly moves.
  double probe(int32_t node, std::span<const char> allowed, int iterations, double enough);
  // Takes a value away for good.
  void forbid(int32_t node, int32_t value) {
    unary[network.first[node] + value] = network.forbidden;
  }
  // Rises with the table entries read.
  int64_t work() const { return workDone; }

private:
  double pass(bool forward);
  void priceUnary(const std::vector<double> &price);
  double paid(const std::vector<double> &price) const;
  void overCapacity();
  void decode(int32_t node, bool forward, const double *belief);

  const Network &network;
  std::vector<int64_t> firstMessage; // of each half edge, into messages
  std::vector<int32_t> reverse;      // the same edge seen from its other end
  std::vector<double> messages;      // incoming, per half edge: one entry per own value
  std::vector<double> bestMessages;  // those of the best bound
  std::vector<double> weight; // of each node in one direction: 1 / most edges of a chain cover
  std::vector<double> unary;
  std::vector<double> priced; // unary costs with memory at the present prices
  std::vector<double> over;   // usage over capacity of what was decoded, per point of time
  std::vector<double> belief, source, outgoing; // scratch of one node
  std::vector<int32_t> choice;
  PriceAscent ascent;
  int64_t workDone = 0;
};

} // namespace dtc::solver
