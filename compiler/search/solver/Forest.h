// Minimises exactly over a set of nodes whose edges among themselves form a forest, with all other
// nodes fixed.
#pragma once

#include "compiler/search/solver/Network.h"

namespace dtc::solver {

// A forest is grown node by node, then solved many times for different prices of memory. Example:
// the minimum of a chain 3 - 7 - 9 with the rest as in `choice`:
//   forest.clear(); forest.tryAdd(3); forest.tryAdd(7); forest.tryAdd(9);
//   forest.prepare(costs, choice);
//   double least = forest.solve();    // forest.value(0) is the new value of node 3
class Forest {
public:
  explicit Forest(const Network &network);

  // Removes all nodes from the forest.
  void clear();
  // Adds the node unless that would close a cycle. Returns true if it is in the forest now.
  bool tryAdd(int32_t node);
  // Returns true if the node is in the forest.
  bool contains(int32_t node) const { return stamp[node] == now; }
  const std::vector<int32_t> &nodes() const { return members; }

  // Takes the costs of the nodes' values (per value, as in Network::unary) and the values of all
  // nodes outside. Removes all prices.
  void prepare(const std::vector<double> &costs, const std::vector<int32_t> &choice);
  // Removes all prices.
  void forgetPrices() { sums = own; }
  // Adds a price per byte to the member's values.
  void addPrice(size_t member, const int64_t *usages, double price);
  // Returns the least sum of the costs, the prices and the edges that touch the forest. Call
  // forgetPrices() before the next prices.
  double solve();
  // Returns the same sum, without prices, for the members' values in an assignment of all nodes.
  double costOf(const std::vector<int32_t> &choice) const;
  // Returns the value that the member takes in the minimum.
  int32_t value(size_t member) const { return values[member]; }

  int64_t work() const { return workDone; }

private:
  int32_t find(int32_t member);
  void orient();

  const Network &network;
  std::vector<int32_t> members;
  std::vector<int32_t> stamp,
      position; // for each node: it is in the forest if its stamp is `now`, at this position
  std::vector<int32_t> above;         // union-find over members
  std::vector<int32_t> order, parent; // members from the roots down, and the member above each
  std::vector<const Network::Neighbour *> toParent; // edge from the member to the member above
  std::vector<int64_t> offsets;
  std::vector<double> own, sums;
  std::vector<int32_t> values;
  int32_t now = 0;
  int64_t workDone = 0;
};

} // namespace dtc::solver
