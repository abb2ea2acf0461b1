// A graph of nodes that merge into groups without ever forming a cycle.
#pragma once

#include "llvm/ADT/SmallVector.h"
#include <vector>

namespace dtc {

// Nodes are numbered in a topological order; groups start with one node each.
//
// Keeps a topological order of the groups (after Pearce and Kelly 2006, "A dynamic topological sort
// algorithm for directed acyclic graphs"), so that a merge looks only at the groups between its
// two.
//
// Example: edges 0->1, 1->2, 0->2. merge(0, 2) is refused, as 1 stands between; merge(0, 1) and
// then merge(0, 2) is not.
class FusionGraph {
public:
  explicit FusionGraph(unsigned numNodes);

  // `to` needs `from` first. Only before the first merge, and with from < to.
  void addEdge(unsigned from, unsigned to);

  // Joins the groups of two nodes. False, changing nothing, when another group would stand both
  // before and after them.
  bool merge(unsigned a, unsigned b);

  // The smallest node of the group of `node`.
  unsigned leader(unsigned node) const;
  bool sameGroup(unsigned a, unsigned b) const { return leader(a) == leader(b); }
  llvm::ArrayRef<unsigned> members(unsigned node) const { return groupMembers[leader(node)]; }

  // All groups, each after the groups that it needs; members ascend.
  std::vector<std::vector<unsigned>> order() const;

private:
  // Marks the groups before position `end` that `start` reaches; false when one of them reaches the
  // group at `end`.
  bool markReached(unsigned start, unsigned end, std::vector<unsigned> &reached);
  void placeAfter(unsigned begin, unsigned end, unsigned merged, llvm::ArrayRef<unsigned> later);

  std::vector<llvm::SmallVector<unsigned, 4>> successors;   // of nodes
  std::vector<llvm::SmallVector<unsigned, 4>> groupMembers; // of leaders; empty for the others
  std::vector<unsigned> leaders;
  std::vector<unsigned> position; // of leaders
  std::vector<int> atPosition;    // the leader there, or -1
  std::vector<bool> isReached;    // of leaders; only inside merge
};

} // namespace dtc
