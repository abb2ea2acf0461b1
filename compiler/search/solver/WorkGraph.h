// The problem while presolve rewrites it: nodes and edges that are added and removed, and the way
// back.
#pragma once

#include "compiler/search/solver/Network.h"
#include "compiler/search/solver/Problem.h"

#include <deque>
#include <memory>

namespace dtc::solver {

// Adds costs. A sum with an infinite cost is infinite.
inline int64_t addCosts(int64_t a, int64_t b) {
  return a >= kInfiniteCost || b >= kInfiniteCost ? kInfiniteCost : a + b;
}

// Tells how to find the value of a node that presolve removed from the values of nodes that stayed
// longer. Values are those of the original problem.
struct Removal {
  int32_t node;
  int32_t a = -1, b = -1;             // the nodes that it depends on; -1 for none
  std::vector<int32_t> rowOf = {};    // per value of a
  std::vector<int32_t> columnOf = {}; // per value of b
  std::vector<int32_t> values = {};   // indexed by row * columns + column
  int32_t columns = 1;
};

// A problem whose nodes, values and edges can be removed.
struct WorkGraph {
  using Table = std::vector<int64_t>;

  // Memory that a node uses over a range of points of time.
  struct Piece {
    int32_t begin, end;
    std::vector<int64_t> usages; // per value
  };
  // A node, with what is left of its values.
  struct Node {
    bool alive = true;
    bool piecesChanged = true;
    std::vector<int64_t> unary;
    std::vector<int32_t> origin; // the original value of each value
    std::vector<Piece> pieces;
    std::vector<int32_t> edges;
    // Returns the number of values that are left.
    int32_t numValues() const { return static_cast<int32_t>(unary.size()); }
  };
  // An edge, and its table of costs.
  struct Edge {
    int32_t a, b;
    bool alive = true, dirty = true;
    std::shared_ptr<const Table> table; // indexed by value of a * values of b + value of b
    // Returns the other end of the edge.
    int32_t other(int32_t node) const { return node == a ? b : a; }
  };

  explicit WorkGraph(const Problem &problem);
  // Makes the graph of what is left of a network if only allowed values may be taken (one flag per
  // entry of Network::unary). Nodes and values are numbered as in the network.
  WorkGraph(const Network &network, std::span<const char> allowed);

  // Returns the entry of the edge's table for value x of `node` and y of the other end.
  int64_t entry(const Edge &edge, int32_t node, int32_t x, int32_t y) const {
    return node == edge.a ? (*edge.table)[static_cast<size_t>(x) * nodes[edge.b].numValues() + y]
                          : (*edge.table)[static_cast<size_t>(y) * nodes[edge.b].numValues() + x];
  }

  // Adds a table (rows: a's values) to the edge between a and b, which is made if there is none.
  void addTable(int32_t a, int32_t b, Table table);
  // Removes an edge from both its ends.
  void dropEdge(int32_t edge);
  // Keeps only the marked values of a node, in all its tables and pieces.
  void keepValues(int32_t node, const std::vector<char> &keep);
  // Removes a node with all its edges. Its cost must have been added elsewhere.
  void dropNode(int32_t node, Removal removal);
  // Queues the node for another visit, unless it is queued or removed.
  void markDirty(int32_t node);
  // Makes the pieces of a node disjoint with a least usage of 0. What all values use is moved to
  // the base.
  void tidyPieces(int32_t node);
  // Returns the bytes in use at each point by what is decided.
  std::vector<int64_t> baseUsage() const;
  // Returns the table of an edge with the values of `node` as rows.
  Table rowsFor(const Edge &edge, int32_t node) const;

  std::vector<Node> nodes;
  std::vector<Edge> edges;
  std::vector<Removal> removals;
  std::vector<int64_t> baseChange; // bytes in use by what is decided: the change at each point
  std::deque<int32_t> queue;       // nodes to visit
  std::vector<char> queued;
  int32_t numTimes = 0;
  std::vector<int32_t> times; // the original point of each point of time
  int64_t limit;
  int64_t constant = 0;
  bool infeasible = false;
};

} // namespace dtc::solver
