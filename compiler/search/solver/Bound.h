// Computes a lower bound: memory limits become prices in the costs, and the rest is bounded by
// sequential tree-reweighted message passing.
#pragma once

#include "compiler/search/solver/Network.h"
#include "compiler/search/solver/PriceAscent.h"

namespace dtc::solver {

// For prices p_t >= 0 per byte, every assignment within the limits costs at least
//   min over assignments of (cost + sum_t p_t usage_t) - sum_t p_t capacity_t.
// The minimum is bounded by messages along the edges (Kolmogorov, "Convergent tree-reweighted
// message passing for energy minimization", PAMI 2006). Passes over the nodes go forward and back,
// and each ends with a valid bound whatever the messages were before. Between passes the prices
// move by a subgradient (see PriceAscent.h): usage over capacity of the assignment decoded in the
// last pass. When prices return to the best ones, so do messages, because messages for bad prices
// take hundreds of passes to recover. The result is deterministic. A pass is the unit of work.
class Bound {
public:
  // Starts with the given prices (one per point of time), or with 0.
  explicit Bound(const Network &network, std::vector<double> prices = {});

  // Makes one pass forward and one back, then a step of the prices towards `target`, the cost of
  // the best known assignment (infinity if there is none).
  void iterate(double target);

  // Returns the best bound of all passes on the cost of the network, its constant included.
  double best() const { return ascent.bestValue(); }
  // Returns the assignment decoded in the last pass: each node's best value, given those decided
  // before it and the messages of the others. It may be forbidden or over the limit.
  const std::vector<int32_t> &decoded() const { return choice; }
  // Returns the prices of the best bound.
  const std::vector<double> &prices() const { return ascent.bestPrices(); }
  // Returns for every value (as in Network::unary) a lower bound of the assignments that take it.
  // Makes one pass forward and one back at the best prices.
  std::vector<double> valueBounds();
  // Returns a lower bound of the assignments in which a node takes one of some values. Makes at
  // most `iterations` iterations from the present state, which is restored at the end. Stops early
  // if the bound reaches `enough` or almost stops moving.
  double probe(int32_t node, std::span<const char> allowed, int iterations, double enough);
  // Removes a value permanently.
  void forbid(int32_t node, int32_t value) {
    unary[network.first[node] + value] = network.forbidden;
  }
  // Returns the work so far, which grows with the table entries read.
  int64_t work() const { return workDone; }

private:
  double pass(bool forward);
  void priceUnary(const std::vector<double> &price);
  double paid(const std::vector<double> &price) const;
  void overCapacity();
  void decode(int32_t node, bool forward, const double *belief);

  const Network &network;
  std::vector<int64_t> firstMessage; // for each half edge: index into messages
  std::vector<int32_t> reverse;      // the same edge, seen from its other end
  std::vector<double> messages;      // incoming, per half edge: one entry per own value
  std::vector<double> bestMessages;  // messages of the best bound
  std::vector<double> weight; // for each node in one direction: 1 / most edges of a chain cover
  std::vector<double> unary;
  std::vector<double> priced; // unary costs with memory at the present prices
  std::vector<double> over;   // usage over capacity of the decoded assignment, per point of time
  std::vector<double> belief, source, outgoing; // scratch memory of one node
  std::vector<int32_t> choice;
  PriceAscent ascent;
  int64_t workDone = 0;
};

} // namespace dtc::solver
