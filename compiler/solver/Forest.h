// Exact minimisation over a set of nodes whose edges among themselves form a forest, all others
// fixed.
#pragma once

#include "compiler/solver/Network.h"

namespace dtc::solver {

// Grown node by node, then solved many times for different prices of memory. Example: minimum of a
// chain 3 - 7 - 9 with the rest as in choice:
//   forest.clear(); forest.tryAdd(3); forest.tryAdd(7); forest.tryAdd(9);
//   forest.prepare(costs, choice);
//   double least = forest.solve();    // forest.value(0) is the new value of node 3
class Forest {
public:
  explicit Forest(const Network &network);

  void clear();
  // Adds the node unless that would close a cycle; true where it is in the forest now.
  bool tryAdd(int32_t node);
  bool contains(int32_t node) const { return stamp[node] == now; }
  const std::vector<int32_t> &nodes() const { return members; }

  // Takes the costs of the nodes' values (per value, as in Network::unary) and the values of all
  // nodes outside; forgets prices.
  void prepare(const std::vector<double> &costs, const std::vector<int32_t> &choice);
  void forgetPrices() { sums = own; }
  // Adds a price per byte to the member's values.
  void addPrice(size_t member, const int64_t *usages, double price);
  // The least sum of the costs, the prices and the edges that touch the forest. Prices are spent:
  // forgetPrices() comes before the next.
  double solve();
  // The same sum, without prices, for the members' values in an assignment of all nodes.
  double costOf(const std::vector<int32_t> &choice) const;
  // The value that the member takes in the minimum found.
  int32_t value(size_t member) const { return values[member]; }

  int64_t work() const { return workDone; }

private:
  int32_t find(int32_t member);
  void orient();

  const Network &network;
  std::vector<int32_t> members;
  std::vector<int32_t> stamp,
      position;                       // of each node: in the forest where stamp is `now`, and where
  std::vector<int32_t> above;         // union-find over members
  std::vector<int32_t> order, parent; // members from the roots down, and the member above each
  std::vector<const Network::Neighbour *> toParent; // from the member to the member above
  std::vector<int64_t> offsets;
  std::vector<double> own, sums;
  std::vector<int32_t> values;
  int32_t now = 0;
  int64_t workDone = 0;
};

} // namespace dtc::solver
