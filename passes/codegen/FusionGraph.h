// A graph of nodes that merge into groups without ever forming a cycle.
#pragma once

#include "llvm/ADT/SmallVector.h"
#include <vector>

namespace dtc {

// The groups of a dependence graph. Nodes are numbered in a topological order; every group starts
// with one node.
//
// Keeps a topological order of the groups (after Pearce and Kelly 2006, "A dynamic topological sort
// algorithm for directed acyclic graphs"), so that a merge only visits the groups between its two.
//
// Example: edges 0->1, 1->2, 0->2. merge(0, 2) is refused, because 1 lies between; merge(0, 1)
// followed by merge(0, 2) succeeds.
class FusionGraph {
public:
  explicit FusionGraph(unsigned numNodes);

  // Adds the edge from `from` to `to`: `to` depends on `from`. Requires from < to and that nothing
  // has been merged yet.
  void addEdge(unsigned from, unsigned to);

  // Joins the groups of two nodes. Returns false, without a change, if this would form a cycle
  // through another group.
  bool merge(unsigned a, unsigned b);

  // Returns the smallest node in the group of `node`.
  unsigned leader(unsigned node) const;
  // True if both nodes are in one group.
  bool sameGroup(unsigned a, unsigned b) const { return leader(a) == leader(b); }
  // Returns the nodes in the group of `node`, ascending.
  llvm::ArrayRef<unsigned> members(unsigned node) const { return groupMembers[leader(node)]; }

  // Returns all groups, each after the groups that it depends on; their members ascend.
  std::vector<std::vector<unsigned>> order() const;

private:
  // Marks the groups before position `end` that `start` reaches. Returns false if one of them
  // reaches the group at `end`.
  bool markReached(unsigned start, unsigned end, std::vector<unsigned> &reached);
  void placeAfter(unsigned begin, unsigned end, unsigned merged, llvm::ArrayRef<unsigned> later);

  std::vector<llvm::SmallVector<unsigned, 4>> successors;   // per node
  std::vector<llvm::SmallVector<unsigned, 4>> groupMembers; // per leader; empty for other nodes
  std::vector<unsigned> leaders;
  std::vector<unsigned> position; // per leader
  std::vector<int> atPosition;    // the leader at each position, or -1
  std::vector<bool> isReached;    // per leader; used within merge only
};

} // namespace dtc
